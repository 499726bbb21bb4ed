"""DeepSpeed configurations in any form: JSON, YAML, a Python dictionary."""

from __future__ import annotations

from crosscast.messages.diagnostics import Severity
from crosscast_reading.facts.fact import Origin
from crosscast_reading.readers.config.deepspeed_precision import AUTO, tell_precision_sections
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    family_of,
    numbers_of,
    setting_of,
    tell_backend,
    tell_betas,
    tell_clip,
    tell_nesterov,
    tell_schedule,
    tell_warmup,
)

_LINE, _CURVE = "WarmupDecayLR", "WarmupCosineLR"
_TWO_SHAPES = ("WarmupLR", _LINE)
_WARMING = (*_TWO_SHAPES, _CURVE)
_USUAL = 1000
"""Length of a warm-up without `warmup_num_steps`; the shortest has 2 steps."""
_HIGHEST = 0.001
"""Highest rate of WarmupDecayLR without `warmup_max_lr`; WarmupLR takes that of the optimizer."""
_RATIOS = {
    "warmup_min_ratio": "schedule.warmup_start_factor",
    "cos_min_ratio": "schedule.end_factor",
}
"""Parameters of WarmupCosineLR that are shares of the highest rate."""
_SHAPES = ("log", "linear")
"""Shapes of their warm-up (deepspeed/runtime/lr_schedules.py, 0.19.8), the default first."""
_COMPRESSED = frozenset({"onebitadam", "zerooneadam"})

_STAGES = {"0": 0, "1": 1, "2": 2, "3": 3, "True": 1, "False": 0}
"""Stages of ZeRO; the oldest form is a switch, which is on for stage 1."""
_LIMITS = frozenset({"max_grad_norm", "clip_grad", "grad_clip", "clip_grad_norm", "max_norm"})
"""Names of the largest norm in other libraries, for which DeepSpeed has a name of its own."""
_OF_SECTIONS = {
    name: section
    for section, names in {
        "optimizer": ("lr", "learning_rate", "weight_decay", "betas", "eps", "momentum"),
        "scheduler": (
            *("min_lr", "max_lr", "warmup_steps", "warmup_num_steps", "total_num_steps"),
            *("warmup_min_lr", "warmup_max_lr", "lr_decay", "warmup_ratio"),
        ),
    }.items()
    for name in names
}
"""Settings that DeepSpeed reads in `params` of a section, if at all; none at the top level
(deepspeed/runtime/constants.py)."""


def looks_like_deepspeed(tree: Tree) -> bool:
    """Return whether a mapping can only be a DeepSpeed configuration."""
    names = tree.names()
    if names & {"train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer"}:
        return True
    if tree.section("zero_optimization").names() & {"stage", "offload_optimizer", "overlap_comm"}:
        return True
    half = any("enabled" in tree.section(name).names() for name in ("fp16", "bf16"))
    typed = {"type", "params"} <= tree.section("optimizer").names()
    known = names & {"train_batch_size", "steps_per_print", "gradient_clipping"}
    return sum((half, typed, bool(known))) >= 2


def tell_deepspeed(writer: SettingWriter, tree: Tree, *, shared: bool = False) -> None:
    """Record the facts of a configuration.

    Args:
        writer: takes the facts.
        tree: the configuration.
        shared: whether the settings of another program stand in the same mapping.
    """
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "deepspeed", origin="presence")
    tell_precision_sections(writer, tree)
    tell_batch(writer, tree)
    _clip(writer, tree)
    if not shared:
        _misnamed_clip(writer, tree)
        _misplaced(writer, tree)
    _optimizer(writer, tree)
    _schedule(writer, tree)
    tell_zero(writer, tree)
    writer.by_library("zero_grad.where")


def tell_changes(writer: SettingWriter, tree: Tree) -> None:
    """Record the entries that a program sets in the configuration of a file.

    What the file says beside them is not known: only facts with places count.
    """
    tell_batch(writer, tree)
    _clip(writer, tree)
    _optimizer_params(writer, tree, coupled=False)
    reason = "the type of DeepSpeed's schedule is in its file"
    writer.unknown("schedule.name", reason, tree.setting("scheduler"))
    _schedule_params(writer, tree)


def tell_batch(writer: SettingWriter, tree: Tree) -> None:
    """Record the sizes of batches and micro-batches; report sizes that contradict each other."""
    whole, micro, steps = (
        setting_of("deepspeed", field, tree.setting)
        for field in ("batch.global_batch_size", "batch.micro_batch_size", "accumulation.steps")
    )
    _auto_number(writer, "batch.micro_batch_size", micro)
    if whole is None and steps is None:
        return
    _auto_number(writer, "batch.global_batch_size", whole)
    writer.tell("accumulation.present", "yes", steps or whole)
    writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    rows, part, times = (0 if s is None else s.number or 0 for s in (whole, micro, steps))
    if steps is not None:
        _auto_number(writer, "accumulation.steps", steps)
        made = part * times if min(rows, part, times) > 0 else 0
        if made and rows % made:
            writer.warn(
                "CC928",
                f"train_batch_size {rows} is not a multiple of {part} x {times}",
                whole,
                severity=Severity.ERROR,
                hint="train_batch_size = micro batch x accumulation x processes",
            )
        elif made:
            writer.tell(
                "parallel.world_size",
                int(rows // made),
                *(whole, micro, steps),
                origin="derived",
                expression="train_batch_size / (micro batch * accumulation)",
            )
        return
    if micro is None:
        writer.tell("accumulation.steps", 1, whole, origin="derived", confidence="likely")
    elif min(rows, part) > 0 and rows % part == 0:
        writer.tell(
            "accumulation.steps",
            int(rows // part),
            *(whole, micro),
            origin="derived",
            expression="train_batch_size / (train_micro_batch_size_per_gpu * processes)",
            confidence="likely",
        )
    else:
        writer.unknown("accumulation.steps", "the batch sizes do not determine it", whole, micro)


def _clip(writer: SettingWriter, tree: Tree) -> None:
    limit = setting_of("deepspeed", "clipping.max_norm", tree.setting)
    if limit is None:
        writer.default("clipping.kind", "none")
    elif limit.text == "auto":
        writer.unknown("clipping.value", AUTO, limit, text="auto")
        writer.tell("clipping.kind", "global_norm", limit, confidence="likely")
    else:
        tell_clip(writer, limit)


def _misnamed_clip(writer: SettingWriter, tree: Tree) -> None:
    """Report limits of gradients under names of other libraries, which DeepSpeed never reads."""
    for name in sorted(_LIMITS & tree.names()) if tree.get("gradient_clipping") is None else ():
        limit = tree.section(name).as_setting(name)
        if limit.number:
            writer.warn(
                "CC933",
                f"DeepSpeed does not read {name}, only gradient_clipping: it clips nothing",
                limit,
                hint=f"rename it to gradient_clipping, or remove it if the program reads {name}",
            )


def _misplaced(writer: SettingWriter, tree: Tree) -> None:
    """Report settings of the optimizer and the schedule outside of their sections."""
    for name in sorted(_OF_SECTIONS.keys() & tree.names()):
        given = tree.section(name).as_setting(name)
        if given.number is not None:
            writer.warn(
                "CC933",
                f"DeepSpeed does not read {name} at the top level",
                given,
                hint=f"set it in the params of {_OF_SECTIONS[name]}, or remove it if the program "
                f"reads {name}",
            )


def _optimizer(writer: SettingWriter, tree: Tree) -> None:
    kind = tree.section("optimizer", "type").as_setting("optimizer.type")
    if not kind.text:
        return
    writer.tell("optimizer.source_name", kind.text, kind)
    family = family_of(kind.text)
    decoupled = tree.section("optimizer", "params", "adam_w_mode").as_setting("adam_w_mode")
    if family == "adam" and kind.text.lower() not in _COMPRESSED:
        family = "adam" if decoupled.switch is False else "adamw"
    if family:
        writer.tell("optimizer.name", family, kind)
    coupled = family in ("adam", "sgd", "adagrad") and kind.text.lower() not in _COMPRESSED
    _optimizer_params(writer, tree, coupled=coupled)


def _optimizer_params(writer: SettingWriter, tree: Tree, *, coupled: bool) -> None:
    params = tree.section("optimizer", "params")
    for field, setting in numbers_of("deepspeed", params.setting, "optimizer", coupled=coupled):
        _auto_number(writer, field, setting)
    tell_nesterov(writer, "deepspeed", params.setting)
    tell_betas(writer, params)
    betas = params.setting("betas")
    if betas is not None and betas.text == "auto":
        for index in range(2):
            writer.unknown(f"optimizer.betas.{index}", AUTO, betas, text="auto")
    tell_backend(writer, params.setting("comm_backend_name"))


def _auto_number(writer: SettingWriter, field: str, setting: Setting | None) -> None:
    if setting is not None and setting.text == "auto":
        writer.unknown(field, AUTO, setting, text="auto")
    else:
        writer.number(field, setting)


def _schedule(writer: SettingWriter, tree: Tree) -> None:
    kind = tree.section("scheduler", "type").as_setting("scheduler.type")
    if kind.value is None:
        return
    tell_schedule(writer, kind)
    writer.tell("schedule.on_skip", "guarded", kind, origin="presence")
    _schedule_params(writer, tree)
    shape = tree.section("scheduler", "params", "warmup_type").as_setting("warmup_type")
    if kind.text in _TWO_SHAPES and shape.text not in ("", *_SHAPES):
        writer.warn(
            "CC933",
            f"warmup_type {shape.text} has no effect: {kind.text} knows {' and '.join(_SHAPES)}, "
            f"and takes {_SHAPES[0]}",
            shape,
            hint="WarmupCosineLR decays by a cosine",
        )


def _schedule_params(writer: SettingWriter, tree: Tree) -> None:
    params = tree.section("scheduler", "params")
    kind = tree.section("scheduler", "type").as_setting("scheduler.type")
    warmup = setting_of("deepspeed", "schedule.warmup_steps", params.setting)
    if warmup is not None and warmup.text == "auto":
        writer.unknown("schedule.warmup", AUTO, warmup, text="auto")
        writer.tell("schedule.has_warmup", "yes", warmup, confidence="likely")
    elif warmup is not None and warmup.number == 1 and kind.text in _WARMING:
        writer.tell("schedule.warmup", "2 steps", warmup, origin="derived")
        writer.tell("schedule.has_warmup", "yes", warmup)
    elif warmup is None and kind.text in _WARMING:
        writer.tell("schedule.warmup", f"{_USUAL} steps", kind, origin="library_default")
        writer.tell("schedule.has_warmup", "yes", kind, origin="presence")
    else:
        tell_warmup(writer, warmup)
    for field, setting in numbers_of("deepspeed", params.setting, "schedule"):
        _auto_number(writer, field, setting)
    if kind.text in _TWO_SHAPES:
        _tell_highest(writer, tree, kind)
    for name, field in _RATIOS.items() if kind.text == _CURVE else ():
        _auto_number(writer, field, params.setting(name))
    lowest = params.setting("warmup_min_lr")
    if kind.text == _LINE and lowest is not None and lowest.number is not None:
        writer.tell("recipe.schedule.end_lr", float(lowest.number), lowest)
    warms = warmup is None or warmup.number != 0
    if warms and kind.text in _WARMING:
        form = "logarithmic" if _is_logarithmic(params) else "behind"
        shape = params.setting("warmup_type") or kind
        writer.tell("schedule.warmup_form", form, shape, origin="presence")


def _tell_highest(writer: SettingWriter, tree: Tree, kind: Setting) -> None:
    """Record the rate at the end of a warm-up, if it is not that of the optimizer."""
    rate, highest = tree.setting("optimizer", "params", "lr"), _HIGHEST
    given = tree.setting("scheduler", "params", "warmup_max_lr")
    if given is not None and given.number is not None:
        highest = float(given.number)
    elif given is not None or kind.text != _LINE:
        return
    if rate is None or rate.number != highest:
        origin: Origin | None = None if given is not None else "library_default"
        writer.tell("schedule.peak", highest, given or kind, origin=origin)


def _is_logarithmic(params: Tree) -> bool:
    """Whether a warm-up rises with the logarithm of the step, as by default."""
    shape = params.setting("warmup_type")
    return shape is None or shape.text != _SHAPES[1]


def tell_zero(writer: SettingWriter, tree: Tree) -> None:
    """Record the ZeRO stage of a configuration."""
    stage = tree.setting("zero_optimization", "stage") or tree.setting("zero_optimization")
    number = None if stage is None else _STAGES.get(stage.text)
    if number is not None:
        writer.tell("parallel.kind", f"deepspeed_zero{number}", stage)
    else:
        stage = tree.setting("zero_optimization", "stage")
        writer.tell("parallel.kind", "deepspeed", stage, origin="presence")
