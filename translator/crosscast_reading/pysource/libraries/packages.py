"""Packages that training programs import, and the framework that each is of.

A name of a program is judged by the package that it starts with: `torch.optim.AdamW` is of
PyTorch, `apex.amp.initialize` of something that is built on it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FrameworkPackages:
    """The packages that a program of one framework imports."""

    name: str
    """As in the field `framework` of facts; empty for packages that work with several."""
    own: tuple[str, ...] = ()
    """The packages of the framework itself."""
    known: tuple[str, ...] = ()
    """Packages built on it whose calls readers know."""
    around: tuple[str, ...] = ()
    """Other packages built on it: models, trainers."""
    aliases: tuple[str, ...] = ()
    """Other names that programs usually import the first of its own packages under."""
    is_read: bool = True
    """Whether readers understand its training."""


TABLE = (
    FrameworkPackages(
        "pytorch",
        own=("torch", "torchvision", "torchaudio"),
        known=(
            *("accelerate", "apex", "deepspeed", "lightning", "lightning_fabric"),
            *("pytorch_lightning", "torch_xla"),
        ),
        around=(
            *("catalyst", "fairseq", "ignite", "megatron", "mmcv", "mmengine", "monai", "nemo"),
            *("timm", "torchtune"),
        ),
    ),
    FrameworkPackages(
        "tensorflow",
        own=("tensorflow", "keras", "tf_keras"),
        known=("tensorflow_addons",),
        aliases=("tf",),
    ),
    FrameworkPackages(
        "paddle",
        own=("paddle",),
        around=("paddleformers", "paddlenlp", "paddleseg", "ppdet", "ppfleetx"),
    ),
    FrameworkPackages("jax", own=("jax",), known=("flax", "optax"), around=("equinox", "haiku")),
    FrameworkPackages("mxnet", own=("mxnet",), around=("gluoncv", "gluonnlp"), is_read=False),
    FrameworkPackages("mindspore", own=("mindspore",), is_read=False),
    FrameworkPackages("oneflow", own=("oneflow",), is_read=False),
    FrameworkPackages("", around=("byteps", "diffusers", "horovod", "transformers")),
)
"""The frameworks that readers tell apart."""

OWN = frozenset(package for row in TABLE for package in row.own)
"""The packages of the frameworks themselves."""
KNOWN = OWN.union(*(row.known for row in TABLE))
"""Packages whose calls hide no training: readers know what each does."""
TRAINING = frozenset(
    package for row in TABLE if row.is_read for package in (*row.own, *row.known, *row.around)
)
"""A program whose training is read imports one of these packages."""
USUAL_NAMES = {name: row.own[0] for row in TABLE if row.own for name in (row.own[0], *row.aliases)}
"""The name that programs import a framework under, with its package: `tf` for `tensorflow`."""
_FRAMEWORK = {
    package: row.name
    for row in TABLE
    for package in (*row.own, *row.known, *row.around, *row.aliases)
}


def framework_of_name(name: str) -> str:
    """Return the framework that a dotted name is of; empty if it is of none or of several."""
    return _FRAMEWORK.get(package_of_name(name), "")


def is_of_framework(name: str) -> bool:
    """Whether a dotted name is one of a framework itself, not of what is built on it."""
    return package_of_name(name) in OWN


def is_foreign(name: str, framework: str) -> bool:
    """Whether a dotted name is of another framework than one."""
    return framework_of_name(name) not in ("", framework)


def package_of_name(name: str) -> str:
    """Return the package that a dotted name starts with: `torch` of `torch.optim.AdamW`."""
    return name.partition(".")[0]


def packages_of(framework: str) -> frozenset[str]:
    """Return the packages of a framework, with those that are built on it."""
    rows = (row for row in TABLE if row.name == framework)
    return frozenset(package for row in rows for package in (*row.own, *row.known, *row.around))
