"""DeepSpeed configurations in any form: JSON, YAML, a Python dictionary."""

from __future__ import annotations

from crosscast.messages.diagnostics import Severity
from crosscast.readers.config.deepspeed_precision import AUTO, tell_precision_sections
from crosscast.readers.settings import Setting, SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import (
    family_of,
    numbers_of,
    setting_of,
    tell_decay,
    tell_nesterov,
    tell_warmup,
)

_TWO_SHAPES = ("WarmupLR", "WarmupDecayLR")
_SHAPES = ("log", "linear")
"""Shapes of their warm-up (deepspeed/runtime/lr_schedules.py, 0.19.8), the default first."""
_COMPRESSED = frozenset({"onebitadam", "zerooneadam"})

_LIMITS = frozenset({"max_grad_norm", "clip_grad", "grad_clip", "clip_grad_norm", "max_norm"})
"""Names of the largest norm in other libraries, for which DeepSpeed has a name of its own."""


def looks_like_deepspeed(tree: Tree) -> bool:
    """Return whether a mapping can only be a DeepSpeed configuration."""
    names = tree.names()
    if names & {"train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer"}:
        return True
    zero = tree.get("zero_optimization")
    if zero is not None and zero.names() & {"stage", "offload_optimizer", "overlap_comm"}:
        return True
    half = any("enabled" in section.names() for n in ("fp16", "bf16") if (section := tree.get(n)))
    optimizer = tree.get("optimizer")
    typed = optimizer is not None and {"type", "params"} <= optimizer.names()
    known = names & {"train_batch_size", "steps_per_print", "gradient_clipping"}
    return (half and bool(known)) or (typed and bool(known)) or (half and typed)


def tell_deepspeed(writer: SettingWriter, tree: Tree, world: Setting | None = None) -> None:
    """Record the facts of a configuration.

    Args:
        writer: collects the facts.
        tree: the configuration.
        world: the number of processes, if the surrounding source states it.
    """
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "deepspeed", origin="presence")
    tell_precision_sections(writer, tree)
    tell_batch(writer, tree, world)
    _clip(writer, tree)
    _misnamed_clip(writer, tree)
    _optimizer(writer, tree)
    _schedule(writer, tree)
    tell_zero(writer, tree)
    writer.by_library("zero_grad.where")


def tell_changes(writer: SettingWriter, tree: Tree) -> None:
    """Record the entries that a program sets in the configuration of a file.

    Args:
        writer: collects the facts.
        tree: these entries alone; what the file says beside them is not known.
    """
    tell_batch(writer, tree)
    if tree.get("gradient_clipping") is not None:
        _clip(writer, tree)
    _optimizer_params(writer, tree, coupled=False)
    if tree.get("scheduler") is not None:
        reason = "the type of DeepSpeed's schedule is in its file"
        writer.unknown("schedule.name", reason, tree.setting("scheduler"))
        _schedule_params(writer, tree)


def tell_batch(writer: SettingWriter, tree: Tree, world: Setting | None = None) -> None:
    """Record the sizes of batches and micro-batches; report sizes that contradict each other."""
    whole, micro, steps = (
        setting_of("deepspeed", field, tree.setting)
        for field in ("batch.global_batch_size", "batch.micro_batch_size", "accumulation.steps")
    )
    if whole is None and steps is None:
        if micro is not None and micro.text != "auto":
            writer.number("batch.micro_batch_size", micro)
        return
    writer.tell("accumulation.present", "yes", steps or whole)
    writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    for field, setting in (("micro_batch_size", micro), ("global_batch_size", whole)):
        if setting is not None and setting.text == "auto":
            writer.unknown(f"batch.{field}", AUTO, setting, text="auto")
        else:
            writer.number(f"batch.{field}", setting)
    processes = int(world.number) if world is not None and world.number else None
    rows, part, times = (None if s is None else s.number for s in (whole, micro, steps))
    if steps is not None:
        if steps.text == "auto":
            writer.unknown("accumulation.steps", AUTO, steps, text="auto")
        else:
            writer.number("accumulation.steps", steps)
        if world is None and rows and part and times and rows % (part * times) == 0:
            writer.tell(
                "parallel.world_size",
                int(rows // (part * times)),
                *(whole, micro, steps),
                origin="derived",
                expression="train_batch_size / (micro batch * accumulation)",
            )
        if rows and part and times and rows % (part * times * (processes or 1)):
            made = f"{part} x {times}" + (f" x {processes} processes" if processes else "")
            writer.warn(
                "CC928",
                f"train_batch_size {rows} is not a multiple of {made}",
                whole,
                severity=Severity.ERROR,
                hint="train_batch_size = micro batch x accumulation x processes",
            )
        return
    if micro is None:
        writer.tell("accumulation.steps", 1, whole, origin="derived", confidence="likely")
    elif rows and part and rows % (part * (processes or 1)) == 0:
        writer.tell(
            "accumulation.steps",
            int(rows // (part * (processes or 1))),
            *(number for number in (whole, micro, world if processes else None)),
            origin="derived",
            expression="train_batch_size / (train_micro_batch_size_per_gpu * processes)",
            confidence="certain" if processes else "likely",
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
    elif not limit.number:
        writer.tell("clipping.kind", "none", limit)
    else:
        writer.tell("clipping.kind", "global_norm", limit)
        writer.number("clipping.value", limit)
        writer.tell("clipping.per", "step", limit, origin="presence")
        writer.tell("clipping.unscaled_first", "library", limit, origin="presence")


def _misnamed_clip(writer: SettingWriter, tree: Tree) -> None:
    """Report limits of gradients under names of other libraries, which DeepSpeed never reads."""
    for name in sorted(_LIMITS & tree.names()) if tree.get("gradient_clipping") is None else ():
        limit = tree.setting(name)
        if limit is not None and limit.number:
            writer.warn(
                "CC933",
                f"{name} has no effect: DeepSpeed reads gradient_clipping, so nothing is clipped",
                limit,
                hint=f"rename it to gradient_clipping, or remove it if the program reads {name}",
            )


def _optimizer(writer: SettingWriter, tree: Tree) -> None:
    kind = tree.setting("optimizer", "type")
    if kind is None or not kind.text:
        return
    writer.tell("optimizer.source_name", kind.text, kind)
    family = family_of(kind.text)
    decoupled = tree.setting("optimizer", "params", "adam_w_mode")
    if family == "adam" and kind.text.lower() not in _COMPRESSED:
        family = "adam" if decoupled is not None and decoupled.switch is False else "adamw"
    if family:
        writer.tell("optimizer.name", family, kind)
    coupled = family in ("adam", "sgd", "adagrad") and kind.text.lower() not in _COMPRESSED
    _optimizer_params(writer, tree, coupled=coupled)


def _optimizer_params(writer: SettingWriter, tree: Tree, *, coupled: bool) -> None:
    params = tree.get("optimizer", "params")
    if params is None:
        return
    for field, setting in numbers_of("deepspeed", params.setting, "optimizer", coupled=coupled):
        _auto_number(writer, field, setting)
    tell_nesterov(writer, "deepspeed", params.setting)
    betas = params.get("betas")
    for index in range(2):
        field = f"optimizer.betas.{index}"
        beta = None if betas is None else betas.get(index)
        if beta is not None and betas is not None:
            beta.key = beta.key or betas.key
            writer.number(field, beta.as_setting("betas"))
        elif betas is not None and betas.value == "auto":
            writer.unknown(field, AUTO, betas.as_setting("betas"), text="auto")
    backend = params.setting("comm_backend_name")
    if backend is not None and backend.text in ("nccl", "mpi", "gloo"):
        writer.tell("parallel.backend", backend.text, backend)


def _auto_number(writer: SettingWriter, field: str, setting: Setting | None) -> None:
    if setting is not None and setting.text == "auto":
        writer.unknown(field, AUTO, setting, text="auto")
    else:
        writer.number(field, setting)


def _schedule(writer: SettingWriter, tree: Tree) -> None:
    kind = tree.setting("scheduler", "type")
    if kind is None or kind.value is None:
        return
    tell_decay(writer, kind)
    writer.tell("schedule.stepped_per", "step", kind, origin="presence")
    writer.tell("schedule.on_skip", "guarded", kind, origin="presence")
    _schedule_params(writer, tree)
    shape = tree.setting("scheduler", "params", "warmup_type")
    if shape is not None and shape.known and kind.text in _TWO_SHAPES and shape.text not in _SHAPES:
        writer.warn(
            "CC933",
            f"warmup_type {shape.text} has no effect: {kind.text} knows {' and '.join(_SHAPES)}, "
            f"and takes {_SHAPES[0]}",
            shape,
            hint="WarmupCosineLR decays by a cosine",
        )


def _schedule_params(writer: SettingWriter, tree: Tree) -> None:
    params = tree.get("scheduler", "params")
    if params is None:
        return
    warmup = setting_of("deepspeed", "schedule.warmup_steps", params.setting)
    if warmup is not None and warmup.text == "auto":
        writer.unknown("schedule.warmup", AUTO, warmup, text="auto")
        writer.tell("schedule.has_warmup", "yes", warmup, confidence="likely")
    else:
        tell_warmup(writer, warmup)
    for field, setting in numbers_of("deepspeed", params.setting, "schedule"):
        _auto_number(writer, field, setting)


def tell_zero(writer: SettingWriter, tree: Tree) -> None:
    """Record the ZeRO stage of a configuration."""
    stage = tree.setting("zero_optimization", "stage")
    number = None if stage is None else stage.number
    whole = tree.setting("zero_optimization")
    if stage is None and whole is not None and isinstance(whole.value, bool):
        stage, number = whole, int(whole.value)  # the oldest form: on is stage 1
    if number in (0, 1, 2, 3) and stage is not None:
        writer.tell("parallel.kind", f"deepspeed_zero{int(number)}", stage)
    else:
        writer.tell("parallel.kind", "deepspeed", stage, origin="presence")
