"""Facts about libraries besides signatures: public names, pass-through calls, versions."""

from __future__ import annotations

import sys

from crosscast_reading.pysource.libraries.packages import KNOWN
from crosscast_reading.pysource.libraries.words import all_words, merged

INSTALLED = KNOWN.union(*(words.libraries for words in all_words()))
"""First names that an absolute import means as a library, whatever the files are called."""

_OTHER_VERSIONS = """
    annotationlib compression tomllib
    aifc asynchat asyncore audioop binhex cgi cgitb chunk crypt distutils dummy_threading formatter
    imghdr imp lib2to3 macpath mailcap msilib nis nntplib ossaudiodev parser pipes smtpd sndhdr spwd
    sunau symbol telnetlib uu xdrlib
"""
STANDARD = sys.stdlib_module_names.union(_OTHER_VERSIONS.split())
"""First names of Python's own modules from 3.7 to 3.14, whichever version runs."""

_PUBLIC = merged(lambda words: words.public_names)
_OPTIM_PRIVATE = frozenset(
    {
        *("adam", "adamw", "sgd", "rmsprop", "adagrad", "adadelta", "adamax", "asgd", "lbfgs"),
        *("nadam", "radam", "rprop", "sparse_adam", "optimizer"),
    }
)

_ONE_NAME = tuple(pair for words in all_words() for pair in words.one_name)


def public_name(name: str) -> str:
    """Return the public name of what a private module of a library holds."""
    head, _, rest = name.partition(".")
    if head not in KNOWN or not rest:
        return name
    if name.startswith("torch.optim.") and name.count(".") > 2:
        parts = name.split(".")
        if parts[2] in _OPTIM_PRIVATE:
            return ".".join((*parts[:2], *parts[3:]))
    cut = len(name)
    while cut > 0:
        public_prefix = _PUBLIC.get(name[:cut])
        if public_prefix is not None:
            return public_prefix + name[cut:]
        cut = name.rfind(".", 0, cut)
    return name


def same_name(name: str) -> str:
    """Return one name for what libraries offer under several, for comparisons."""
    name = public_name(name)
    for other, shared in _ONE_NAME:
        if name == other or name.startswith(f"{other}."):
            return shared + name[len(other) :]
    return name


SELF_RETURNING = frozenset(
    {
        *("to", "cuda", "cpu", "half", "float", "double", "bfloat16", "train", "eval", "clone"),
        *("requires_grad_", "npu", "xpu", "set_epoch", "copy", "deepcopy", "share_memory"),
        *("requires_grad", "apply", "freeze", "unfreeze"),
    }
)
"""Methods of models, tensors and configurations that return what they were called on."""

HANDED_THROUGH = merged(lambda words: words.handed_through)
HANDED_THROUGH_ALL = frozenset(name for words in all_words() for name in words.handed_through_all)
RESULTS = merged(lambda words: words.results)
PACKAGE_OF = merged(lambda words: words.distributions)
