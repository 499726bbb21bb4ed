"""Configurations of detectron2 in Python: LazyConfig, whose objects are made by `LazyCall`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.readers.config.made_objects import is_optimizer, made_objects
from crosscast.readers.python.config_inheritance import Configurations
from crosscast.readers.python.library_calls import last
from crosscast.readers.settings import Setting, SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import tell_decay, tell_torch_class

if TYPE_CHECKING:
    from crosscast.pysource.programs.program import Program

NAME = "lazy_config"
_NAMES = frozenset({"optimizer", "train", "lr_multiplier", "dataloader", "model"})
_SCHEDULES = {"MultiStepParamScheduler": "multistep", "CosineParamScheduler": "cosine"}


class LazyConfigReader:
    """Reads configurations that detectron2's LazyConfig loads."""

    name = NAME
    hints = ("LazyCall", "LazyConfig", "lr_multiplier")

    def read(self, program: Program) -> Iterable[Fact]:
        """Yield the facts of every such module that no other one takes names from."""
        configurations = Configurations(program)
        roots = list(configurations.roots())
        parts = {part for module in roots for part in configurations.imported_from(module)}
        for module in roots:
            if module in parts:
                continue
            tree = configurations.tree(module)
            if len(tree.names() & _NAMES) < 2 or not _is_lazy(tree):
                continue
            writer = SettingWriter(NAME, home=(module.span(module.tree.body[0]),))
            _tell(writer, tree)
            yield from writer.facts


def _is_lazy(tree: Tree) -> bool:
    """Whether the optimizer or its schedule is made later."""
    sections = (tree.get("optimizer"), tree.get("lr_multiplier"))
    return any(part is not None and part.get("_target_") is not None for part in sections)


def _tell(writer: SettingWriter, tree: Tree) -> None:
    writer.tell("framework", "pytorch", origin="presence")
    writer.by_library("zero_grad.where", "parallel.kind")
    train = tree.get("train") or Tree(tree.span, keys={})
    length = train.setting("max_iter")
    writer.number("schedule.total_steps", length)
    writer.number("seed", train.setting("seed"))
    writer.number(
        "batch.global_batch_size", tree.setting("dataloader", "train", "total_batch_size")
    )
    _precision(writer, train.setting("amp", "enabled"))
    _clip(writer, train.get("clip_grad"))
    optimizer = tree.get("optimizer")
    made = next(made_objects(optimizer), None) if optimizer is not None else None
    if made is not None and is_optimizer(made.name):
        tell_torch_class(writer, made.kind, made.arguments)
        spared = made.arguments.setting("params", "weight_decay_norm")
        if spared is not None and spared.number == 0:
            writer.tell("optimizer.no_decay", "yes", spared)
    elif made is not None:
        writer.unknown("optimizer.name", f"an optimizer called {made.name!r}", made.kind)
    _schedule(writer, tree.get("lr_multiplier"), length)


def _precision(writer: SettingWriter, switch: Setting | None) -> None:
    if switch is None:
        return
    if switch.switch is None:
        writer.unknown("precision.compute_dtype", switch.reason or "no switch", switch)
        return
    word = "float16" if switch.switch else "float32"
    writer.tell("precision.enabled", "always" if switch.switch else "never", switch)
    writer.tell("precision.compute_dtype", word, switch)
    if not switch.switch:
        writer.tell("loss_scaling.mode", "none", switch, origin="presence")
        return
    writer.tell("precision.dtypes", word, switch)
    writer.tell("precision.mode", "mixed", switch, origin="presence")
    writer.tell("loss_scaling.mode", "framework_default", switch, origin="presence")
    writer.by_library("scaler_update.status")


def _clip(writer: SettingWriter, section: Tree | None) -> None:
    """Record `clip_grad`, which detrex and others add: a switch, and arguments of PyTorch's."""
    switch = None if section is None else section.setting("enabled")
    if section is None or switch is None:
        return
    limit = section.setting("params", "max_norm")
    if switch.switch is False:
        writer.tell("clipping.kind", "none", switch)
    elif switch.switch and limit is not None:
        writer.tell("clipping.kind", "global_norm", switch, limit)
        writer.number("clipping.value", limit)
        writer.by_library("clipping.per", "clipping.unscaled_first")


def _schedule(writer: SettingWriter, section: Tree | None, length: Setting | None) -> None:
    """Record a multiplier of the rate, and its warm-up, which is a share of all steps."""
    if section is None:
        return
    every = {last(made.name): made for made in made_objects(section)}
    decay = next((made for name, made in every.items() if name != "WarmupParamScheduler"), None)
    if decay is not None:
        tell_decay(writer, _short(decay.kind), _SCHEDULES)
        writer.tell("schedule.stepped_per", "step", decay.kind, origin="presence")
    warm = every.get("WarmupParamScheduler")
    if warm is None:
        return
    share = warm.arguments.setting("warmup_length")
    number, steps = (
        None if share is None else share.number,
        None if length is None else length.number,
    )
    if share is not None and number == 0:
        writer.tell("schedule.has_warmup", "no", share)
    elif share is not None:
        writer.tell("schedule.has_warmup", "yes", share)
        if number is not None and steps:
            given = (share, length)
            writer.tell(
                "schedule.warmup", f"{round(number * steps)} steps", *given, origin="derived"
            )


def _short(kind: Setting) -> Setting:
    return replace(kind, value=last(kind.text))


READER = LazyConfigReader()
