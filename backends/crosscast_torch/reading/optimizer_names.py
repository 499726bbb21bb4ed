"""Calls that create optimizers, and the meaning of their arguments."""

from __future__ import annotations

import re

from crosscast_reading.pysource.libraries.packages import is_foreign
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.words import family_of

_CLASS = re.compile(
    r"(?:[A-Z]\w{0,60})?(?:Adam|SGD|LAMB|Lamb(?![a-z])|NovoGrad|Novograd|Adafactor|AdaFactor|RMSprop|RMSProp"
    r"|Adagrad|Adadelta|Lion|RAdam|LARS|Adamax|Ranger|AdaBelief|AdaBound|Adan|Sophia|Muon|LBFGS"
    r"|Prodigy|ASGD|Rprop|AdEMAMix|Shampoo|MADGRAD)\w*"
)
_NO_CLASS = re.compile(
    r"(Config|Args|Arguments|Scheduler|Callback|Hook|Builder|State|Factory|Params|Mixin|Spec"
    r"|Test|Loss|Schedule|Init|Wrapper|Strategy|Base|Enum|Type|Kwargs|Options|Model|Net|LR)$"
)
_MODULES = ("torch.optim.", "torch_optimizer.", "apex.optimizers.", "bitsandbytes.optim.")
_FACTORY = re.compile(
    r"(create|build|get|make|init|setup|initialize|configure|prepare|construct|smart|choose|select)"
    r"_?(\w*_)?optim"
    r"(izers?|ization|s)?(_v2|_factory|_and_\w+)?$",
    re.I,
)
WRAPPERS = re.compile(
    r"(DistributedOptimizer|FP16_?Optimizer|ZeroRedundancyOptimizer|LARC|Lookahead|SAM|ASAM|GSAM"
    r"|NoamOpt|ScheduledOptim|AcceleratedOptimizer|OSS|SWA|FairseqOptimizer)$"
)
"""Names of functions that wrap an optimizer or create it from a class."""
BASES = ("optimizer_class", "base_optimizer", "optim", "optimizer_cls", "base_optimizer_cls")
"""Arguments that pass an optimizer class to a wrapper."""

_COUPLED = frozenset({"sgd", "adam", "rmsprop", "adagrad", "adadelta", "lars", "radam"})
_DECOUPLED_ADAM = re.compile(
    r"(Fused|CPU|Bert|OpenAI|Paged|Distributed)\w{0,60}Adam|Adam\w{0,60}Fused"
)


def is_optimizer(name: str) -> bool:
    """Whether a qualified name is an optimizer class."""
    word = last(name)
    if is_foreign(name, "pytorch") or _NO_CLASS.search(word):
        return False
    return bool(_CLASS.fullmatch(word))


def is_factory(name: str) -> bool:
    """Whether a function of this name creates an optimizer."""
    return _FACTORY.fullmatch(last(name)) is not None


def is_library_class(name: str) -> bool:
    """Whether a class belongs to a module that only contains optimizers."""
    if name.startswith(("torch.optim.lr_scheduler.", "torch.optim.swa_utils.")):
        return False
    return name.startswith(_MODULES) and last(name)[:1].isupper()


def family(name: str) -> str:
    """Return the family of a class; empty if the vocabulary has none for it.

    The fused and BERT's own Adam take the decay out of the gradient, as AdamW does.
    """
    word = last(name)
    if "Muon" in word:
        return ""
    family_name = family_of(word)
    return "adamw" if family_name == "adam" and _DECOUPLED_ADAM.search(word) else family_name


def decay_field(name: str) -> str:
    """Return the field of `weight_decay=`: coupled (`l2`) or decoupled (`weight_decay`)."""
    return "l2" if family(name) in _COUPLED and "W" not in last(name) else "weight_decay"
