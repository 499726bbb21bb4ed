"""Objects that a configuration makes: a class by its name, and the arguments that it gets.

Hydra writes `_target_: torch.optim.Adam`, latent diffusion `target:` and `params:`, Lightning
`class_path:` and `init_args:`, torchtune `_component_:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crosscast_reading.readers.config.lightning_arguments import tell_lightning
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import family_of, tell_decay, tell_torch_class

_FORMS = {"_target_": "", "target": "params", "class_path": "init_args", "_component_": ""}
"""Key of the class, and the key of its arguments; empty where they stand beside it."""
TRAINER = re.compile(r"(pytorch_lightning|lightning|pl)\.([\w.]+\.)?Trainer")
_OPTIMIZER = re.compile(
    r"(torch(_optimizer)?|apex|transformers|bitsandbytes|timm|deepspeed)\.[\w.]+"
)
_SCHEDULE = re.compile(r"torch\.optim\.lr_scheduler\.\w+|transformers\.(\w+\.)*get_\w*schedule\w*")


@dataclass(frozen=True, slots=True)
class Made:
    """An object that a configuration makes."""

    kind: Setting
    """The setting that names the class."""
    arguments: Tree

    @property
    def name(self) -> str:
        """The class with its package."""
        return self.kind.text


def made_objects(tree: Tree) -> Iterator[Made]:
    """Yield the objects of a configuration, outer ones first."""
    if tree.keys is not None:
        for word, inner in _FORMS.items():
            kind = tree.section(word).as_setting(word)
            if kind.text:
                yield Made(kind, tree.section(inner) if inner else tree)
                break
    for part in (*(tree.keys or {}).values(), *(tree.items or [])):
        yield from made_objects(part)


def tell_objects(writer: SettingWriter, tree: Tree) -> bool:
    """Record Lightning's Trainer, PyTorch's optimizer and its schedule; return if one is there."""
    objects = list(made_objects(tree))
    trainers = [made for made in objects if TRAINER.fullmatch(made.name)]
    for made in trainers[:1]:
        writer.tell("api", "lightning", made.kind, origin="presence")
        tell_lightning(writer, made.arguments.settings().get)
    optimizers = [made for made in objects if is_optimizer(made.name)]
    if len(optimizers) == 1:
        tell_torch_class(writer, optimizers[0].kind, optimizers[0].arguments)
    elif optimizers:
        kinds = [made.kind for made in optimizers]
        writer.unknown("optimizer.name", "the configuration makes several optimizers", *kinds)
    schedules = [made for made in objects if _SCHEDULE.fullmatch(made.name)]
    for made in schedules[:1]:
        tell_decay(writer, made.kind)
    return bool(trainers or optimizers or schedules)


def is_optimizer(name: str) -> bool:
    """Whether a class with its package is an optimizer of a library for PyTorch."""
    known = _OPTIMIZER.fullmatch(name) and not _SCHEDULE.fullmatch(name)
    return bool(known and "optim" in name.lower() and family_of(name))
