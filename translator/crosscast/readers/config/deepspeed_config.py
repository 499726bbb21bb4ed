"""What a DeepSpeed configuration says, wherever it stands: JSON, YAML, a Python dictionary."""

from __future__ import annotations

from crosscast.messages.diagnostics import Severity
from crosscast.readers.config.deepspeed_precision import AUTO, tell_precision_sections
from crosscast.readers.config.settings import Said, Setting
from crosscast.readers.config.tree import Tree
from crosscast.readers.words import (
    family_of,
    numbers_of,
    setting_of,
    tell_decay,
    tell_nesterov,
    tell_warmup,
)

_COMPRESSED = frozenset({"onebitadam", "zerooneadam"})


def looks_like_deepspeed(tree: Tree) -> bool:
    """Return whether a mapping can only be a DeepSpeed configuration."""
    names = tree.names()
    if names & {"train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer"}:
        return True
    zero = tree.get("zero_optimization")
    if zero is not None and zero.names() & {"stage", "offload_optimizer", "overlap_comm"}:
        return True
    half = any("enabled" in one.names() for n in ("fp16", "bf16") if (one := tree.get(n)))
    optimizer = tree.get("optimizer")
    typed = optimizer is not None and {"type", "params"} <= optimizer.names()
    known = names & {"train_batch_size", "steps_per_print", "gradient_clipping"}
    return (half and bool(known)) or (typed and bool(known)) or (half and typed)


def tell_deepspeed(said: Said, tree: Tree, world: Setting | None = None) -> None:
    """Say what a configuration means.

    Args:
        said: collects the facts.
        tree: the configuration.
        world: the number of processes, where the surrounding source says it.
    """
    said.tell("framework", "pytorch", origin="presence")
    said.tell("api", "deepspeed", origin="presence")
    tell_precision_sections(said, tree)
    tell_batch(said, tree, world)
    _clip(said, tree)
    _optimizer(said, tree)
    _schedule(said, tree)
    tell_zero(said, tree)
    said.by_library("zero_grad.where")


def tell_batch(said: Said, tree: Tree, world: Setting | None = None) -> None:
    """Say how rows, micro-batches and processes make up a batch; report what cannot be."""
    whole, micro, steps = (
        setting_of("deepspeed", field, tree.setting)
        for field in ("batch.global_batch_size", "batch.micro_batch_size", "accumulation.steps")
    )
    if whole is None and steps is None:
        if micro is not None and micro.text != "auto":
            said.number("batch.micro_batch_size", micro)
        return
    said.tell("accumulation.present", "yes", steps or whole)
    said.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    for field, setting in (("micro_batch_size", micro), ("global_batch_size", whole)):
        if setting is not None and setting.text == "auto":
            said.unknown(f"batch.{field}", AUTO, setting, text="auto")
        else:
            said.number(f"batch.{field}", setting)
    processes = int(world.number) if world is not None and world.number else None
    rows, part, times = (None if s is None else s.number for s in (whole, micro, steps))
    if steps is not None:
        if steps.text == "auto":
            said.unknown("accumulation.steps", AUTO, steps, text="auto")
        else:
            said.number("accumulation.steps", steps)
        if world is None and rows and part and times and rows % (part * times) == 0:
            said.tell(
                "parallel.world_size",
                int(rows // (part * times)),
                *(whole, micro, steps),
                origin="derived",
                expression="train_batch_size / (micro batch * accumulation)",
            )
        if rows and part and times and rows % (part * times * (processes or 1)):
            made = f"{part} x {times}" + (f" x {processes} processes" if processes else "")
            said.warn(
                "CC928",
                f"train_batch_size {rows} is no multiple of {made}",
                whole,
                severity=Severity.ERROR,
                hint="train_batch_size = micro batch x accumulation x processes",
            )
        return
    if micro is None:
        said.tell("accumulation.steps", 1, whole, origin="derived", confidence="likely")
    elif rows and part and rows % (part * (processes or 1)) == 0:
        said.tell(
            "accumulation.steps",
            int(rows // (part * (processes or 1))),
            *(one for one in (whole, micro, world if processes else None)),
            origin="derived",
            expression="train_batch_size / (train_micro_batch_size_per_gpu * processes)",
            confidence="certain" if processes else "likely",
        )
    else:
        said.unknown("accumulation.steps", "the batch sizes do not say it", whole, micro)


def _clip(said: Said, tree: Tree) -> None:
    limit = setting_of("deepspeed", "clipping.max_norm", tree.setting)
    if limit is None:
        said.default("clipping.kind", "none")
    elif limit.text == "auto":
        said.unknown("clipping.value", AUTO, limit, text="auto")
        said.tell("clipping.kind", "global_norm", limit, confidence="likely")
    elif not limit.number:
        said.tell("clipping.kind", "none", limit)
    else:
        said.tell("clipping.kind", "global_norm", limit)
        said.number("clipping.value", limit)
        said.tell("clipping.per", "step", limit, origin="presence")
        said.tell("clipping.unscaled_first", "library", limit, origin="presence")


def _optimizer(said: Said, tree: Tree) -> None:
    kind = tree.setting("optimizer", "type")
    if kind is None or not kind.text:
        return
    said.tell("optimizer.source_name", kind.text, kind)
    family = family_of(kind.text)
    decoupled = tree.setting("optimizer", "params", "adam_w_mode")
    if family == "adam" and kind.text.lower() not in _COMPRESSED:
        family = "adam" if decoupled is not None and decoupled.switch is False else "adamw"
    if family:
        said.tell("optimizer.name", family, kind)
    coupled = family in ("adam", "sgd", "adagrad") and kind.text.lower() not in _COMPRESSED
    params = tree.get("optimizer", "params")
    if params is None:
        return
    for field, setting in numbers_of("deepspeed", params.setting, "optimizer", coupled=coupled):
        _auto_number(said, field, setting)
    tell_nesterov(said, "deepspeed", params.setting)
    betas = params.get("betas")
    for index in range(2):
        field = f"optimizer.betas.{index}"
        one = None if betas is None else betas.get(index)
        if one is not None and betas is not None:
            one.key = one.key or betas.key
            said.number(field, one.as_setting("betas"))
        elif betas is not None and betas.value == "auto":
            said.unknown(field, AUTO, betas.as_setting("betas"), text="auto")
    backend = params.setting("comm_backend_name")
    if backend is not None and backend.text in ("nccl", "mpi", "gloo"):
        said.tell("parallel.backend", backend.text, backend)


def _auto_number(said: Said, field: str, setting: Setting | None) -> None:
    if setting is not None and setting.text == "auto":
        said.unknown(field, AUTO, setting, text="auto")
    else:
        said.number(field, setting)


def _schedule(said: Said, tree: Tree) -> None:
    kind = tree.setting("scheduler", "type")
    if kind is None or kind.value is None:
        return
    tell_decay(said, kind)
    said.tell("schedule.stepped_per", "step", kind, origin="presence")
    said.tell("schedule.on_skip", "guarded", kind, origin="presence")
    params = tree.get("scheduler", "params")
    if params is None:
        return
    warmup = setting_of("deepspeed", "schedule.warmup_steps", params.setting)
    if warmup is not None and warmup.text == "auto":
        said.unknown("schedule.warmup", AUTO, warmup, text="auto")
        said.tell("schedule.has_warmup", "yes", warmup, confidence="likely")
    else:
        tell_warmup(said, warmup)
    for field, setting in numbers_of("deepspeed", params.setting, "schedule"):
        _auto_number(said, field, setting)


def tell_zero(said: Said, tree: Tree) -> None:
    """Say which stage of ZeRO a configuration asks for."""
    stage = tree.setting("zero_optimization", "stage")
    number = None if stage is None else stage.number
    if number in (0, 1, 2, 3) and stage is not None:
        said.tell("parallel.kind", f"deepspeed_zero{int(number)}", stage)
    else:
        said.tell("parallel.kind", "deepspeed", stage, origin="presence")
