"""Configurations of detectron2: yacs with `SOLVER`, inherited by `_BASE_`."""

from __future__ import annotations

import re

from crosscast.messages.source import Source
from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import first_given, tell_decay, tell_warmup

_MARK = re.compile(
    r"^VERSION[ \t]*:|^[ \t]+META_ARCHITECTURE[ \t]*:|detectron2://|^_BASE_[ \t]*:", re.MULTILINE
)
_OTHERS = re.compile(
    r"^[ \t]+(LR_POLICY|OPTIMIZING_METHOD|MAX_EPOCHS?|WARMUP_EPOCHS|OPT|BASE_LR_END_RATIO)[ \t]*:",
    re.MULTILINE,
)
"""Settings of other tools whose section is called SOLVER, too: SlowFast, FastReID."""
_SCHEDULES = {"WarmupMultiStepLR": "multistep", "WarmupCosineLR": "cosine"}
_CLIPS = {"value": "value", "norm": "per_param_norm", "full_model": "global_norm"}
"""`norm` is that of every parameter by itself; `full_model` is a common addition of projects."""
_SETTINGS = {
    "BASE_LR": "optimizer.learning_rate",
    "MOMENTUM": "optimizer.momentum",
    "WEIGHT_DECAY": "optimizer.l2",
    "MAX_ITER": "schedule.total_steps",
    "IMS_PER_BATCH": "batch.global_batch_size",
}
_DEFAULTS = next(d for d in LIBRARY_DEFAULTS if d.api == "detectron2 SOLVER").arguments


def _owns(source: Source, keys: frozenset[str]) -> bool:
    if not keys & {"SOLVER", "_BASE_"} or not keys & {"MODEL", "DATASETS", "INPUT", "SOLVER"}:
        return False
    return bool(_MARK.search(source.text)) and not _OTHERS.search(source.text)


def _tell(writer: SettingWriter, tree: Tree) -> None:
    solver = tree.section("SOLVER")
    whole = tree.get("_BASE_") is None
    writer.tell("framework", "pytorch", origin="presence")
    writer.by_library("zero_grad.where", "parallel.kind")
    _precision(writer, solver, whole)
    _optimizer(writer, solver, whole)
    _clip(writer, solver, whole)
    _schedule(writer, solver, whole)
    random = tree.section("SEED").value == -1
    writer.number("seed", None if random else tree.setting("SEED"))


def _precision(writer: SettingWriter, solver: Tree, whole: bool) -> None:
    switch = solver.setting("AMP", "ENABLED")
    on = None if switch is None else switch.switch
    if on is None:
        if whole and switch is None:
            writer.default("precision.enabled", "never")
            writer.default("precision.compute_dtype", "float32")
            writer.tell("loss_scaling.mode", "none", origin="presence")
        else:
            writer.tell("precision.enabled", "inherit", origin="presence", confidence="likely")
        return
    word = "float16" if on else "float32"
    writer.tell("precision.enabled", "always" if on else "never", switch)
    writer.tell("precision.compute_dtype", word, switch)
    if not on:
        writer.tell("loss_scaling.mode", "none", switch, origin="presence")
        return
    writer.tell("precision.dtypes", word, switch)
    writer.tell("precision.mode", "mixed", switch, origin="presence")
    writer.tell("loss_scaling.mode", "framework_default", switch, origin="presence")
    writer.by_library("scaler_update.status")


def _optimizer(writer: SettingWriter, solver: Tree, whole: bool) -> None:
    named = solver.section("OPTIMIZER").as_setting("OPTIMIZER")  # projects add it
    other = named.text.upper() not in ("", "SGD")
    if other:
        reason = "a project's own optimizer; its program says how it is made"
        writer.unknown("optimizer.name", reason, named, text=named.text)
    elif whole:
        # DefaultTrainer builds SGD; a program may override build_optimizer
        writer.default("optimizer.name", "sgd")
    for name, field in _SETTINGS.items():
        if other and name in ("MOMENTUM", "WEIGHT_DECAY"):
            continue  # whether it has a momentum and how it decays depends on the optimizer
        setting = solver.setting(name)
        if setting is not None:
            writer.number(field, setting)
        elif whole:
            writer.default(field, _DEFAULTS[name])
    for name in ("WEIGHT_DECAY_NORM", "WEIGHT_DECAY_BIAS"):
        spared = solver.section(name).as_setting(name)
        if spared.number == 0:
            writer.tell("optimizer.no_decay", "yes", spared)
            return
    if whole and solver.get("WEIGHT_DECAY_NORM") is None:
        writer.default("optimizer.no_decay", "yes")  # WEIGHT_DECAY_NORM is 0


def _clip(writer: SettingWriter, solver: Tree, whole: bool) -> None:
    section = solver.section("CLIP_GRADIENTS")
    switch = section.setting("ENABLED")
    on = None if switch is None else switch.switch
    if on is None:
        if whole and switch is None:
            writer.default("clipping.kind", "none")
        return
    if not on:
        writer.tell("clipping.kind", "none", switch)
        return
    kind, limit = section.setting("CLIP_TYPE"), section.setting("CLIP_VALUE")
    name = "value" if kind is None else kind.text
    if (word := _CLIPS.get(name)) is None:
        writer.unknown("clipping.kind", f"a kind called {name!r}", kind, text=name)
    else:
        writer.tell("clipping.kind", word, kind or switch)
    if limit is not None:
        writer.number("clipping.value", limit)
    elif whole:
        writer.default("clipping.value", _DEFAULTS["CLIP_VALUE"])
    writer.by_library("clipping.per", "clipping.unscaled_first")


def _schedule(writer: SettingWriter, solver: Tree, whole: bool) -> None:
    kind, steps = first_given(solver.setting("LR_SCHEDULER_NAME")), solver.setting("STEPS")
    if kind is not None:
        tell_decay(writer, kind, _SCHEDULES)
    elif steps is not None:
        writer.tell("schedule.name", "multistep", steps)
    elif whole:
        writer.default("schedule.name", "multistep")
    if any(fact.field == "schedule.name" for fact in writer.facts):
        writer.tell("schedule.stepped_per", "step", kind, origin="presence")
    warmup = solver.setting("WARMUP_ITERS")
    tell_warmup(writer, warmup)
    if warmup is None and whole:
        writer.default("schedule.warmup", f"{_DEFAULTS['WARMUP_ITERS']} steps")
        writer.default("schedule.has_warmup", "yes")


READER = YamlFormat("detectron2_yaml", _owns, _tell, loader="numbers")
