"""Configurations of detectron2 in Python: LazyConfig, whose objects are made by `LazyCall`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.config.made_objects import is_optimizer, made_objects
from crosscast_reading.readers.python.config_inheritance import Configurations
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import tell_decay, tell_torch_class

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program

NAME = "lazy_config"
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
            lazy = (tree.get(name, "_target_") for name in ("optimizer", "lr_multiplier"))
            if any(lazy):
                writer = SettingWriter(NAME, home=(module.span(module.tree.body[0]),))
                _tell(writer, tree)
                yield from writer.facts


def _tell(writer: SettingWriter, tree: Tree) -> None:
    writer.tell("framework", "pytorch", origin="presence")
    writer.by_library("zero_grad.where", "parallel.kind")
    train = tree.section("train")
    length = train.setting("max_iter")
    writer.number("schedule.total_steps", length)
    writer.number("seed", train.setting("seed"))
    writer.number(
        "batch.global_batch_size", tree.setting("dataloader", "train", "total_batch_size")
    )
    _precision(writer, train.setting("amp", "enabled"))
    _clip(writer, train.section("clip_grad"))
    for made in itertools.islice(made_objects(tree.section("optimizer")), 1):
        if is_optimizer(made.name):
            tell_torch_class(writer, made.kind, made.arguments)
        else:
            writer.unknown("optimizer.name", f"an optimizer called {made.name!r}", made.kind)
        match made.arguments.setting("params", "weight_decay_norm"):
            case Setting(number=0) as spared:
                writer.tell("optimizer.no_decay", "yes", spared)
    _schedule(writer, tree.section("lr_multiplier"), length)


def _precision(writer: SettingWriter, switch: Setting | None) -> None:
    match switch:
        case None:
            pass
        case Setting(switch=None):
            reason = switch.reason or "no switch"
            writer.unknown("precision.compute_dtype", reason, switch)
        case Setting(switch=False):
            writer.tell("precision.enabled", "never", switch)
            writer.tell("precision.compute_dtype", "float32", switch)
            writer.tell("loss_scaling.mode", "none", switch, origin="presence")
        case _:
            writer.tell("precision.enabled", "always", switch)
            writer.tell("precision.compute_dtype", "float16", switch)
            writer.tell("precision.dtypes", "float16", switch)
            writer.tell("precision.mode", "mixed", switch, origin="presence")
            writer.tell("loss_scaling.mode", "framework_default", switch, origin="presence")
            writer.by_library("scaler_update.status")


def _clip(writer: SettingWriter, section: Tree) -> None:
    """Record `clip_grad`, which detrex and others add: a switch, and arguments of PyTorch's."""
    match section.setting("enabled"), section.setting("params", "max_norm"):
        case Setting(switch=False) as switch, _:
            writer.tell("clipping.kind", "none", switch)
        case Setting(switch=True) as switch, Setting() as limit:
            writer.tell("clipping.kind", "global_norm", switch, limit)
            writer.number("clipping.value", limit)
            writer.by_library("clipping.per", "clipping.unscaled_first")


def _schedule(writer: SettingWriter, section: Tree, length: Setting | None) -> None:
    """Record a multiplier of the rate, and its warm-up, which is a share of all steps."""
    every = {last(made.name): made for made in made_objects(section)}
    warm = every.pop("WarmupParamScheduler", None)
    for decay in itertools.islice(every.values(), 1):
        tell_decay(writer, _short(decay.kind), _SCHEDULES)
        writer.tell("schedule.stepped_per", "step", decay.kind, origin="presence")
    match warm and warm.arguments.setting("warmup_length"), length:
        case Setting(number=0) as share, _:
            writer.tell("schedule.has_warmup", "no", share)
        case Setting(number=int() | float() as number) as share, Setting(number=int() as steps):
            writer.tell("schedule.has_warmup", "yes", share)
            warmup = f"{round(number * steps)} steps"
            writer.tell("schedule.warmup", warmup, share, length, origin="derived")
        case Setting() as share, _:
            writer.tell("schedule.has_warmup", "yes", share)


def _short(kind: Setting) -> Setting:
    return replace(kind, value=last(kind.text))


READER = LazyConfigReader()
