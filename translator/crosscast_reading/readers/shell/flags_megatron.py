"""Flags of Megatron-LM and of programs built on it."""

from __future__ import annotations

import re

from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter
from crosscast_reading.readers.shell.launch import Launch
from crosscast_reading.readers.words import (
    product_of,
    setting_of,
    tell_clip,
    tell_decay,
    tell_numbers,
    tell_warmup,
)

_ONLY_THERE = frozenset(
    (
        *("micro_batch_size", "global_batch_size", "tensor_model_parallel_size", "num_layers"),
        *("pipeline_model_parallel_size", "train_iters", "lr_decay_iters", "train_samples"),
        *("lr_warmup_fraction", "lr_warmup_iters", "lr_warmup_samples", "lr_decay_style"),
        *("num_attention_heads", "max_position_embeddings", "init_method_std", "clip_grad"),
        *("rampup_batch_size", "no_load_optim", "eval_iters", "model_parallel_size"),
    )
)
_DEFAULTED = re.compile(r"\$\{\w+:?[-=]")
_SCALING = scaling_words("megatron-core")
_DEFAULTS = next(d for d in LIBRARY_DEFAULTS if d.api == "megatron flags")


def owns(settings: Settings, launch: Launch) -> bool:
    """Return whether these can only be Megatron's flags."""
    dashed = sum("-" in f.expression.lstrip("-") for f in launch.command.flags)
    return len(settings.having(_ONLY_THERE)) >= 4 and dashed >= 3


def tell(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    """Record the facts of the flags, Megatron's defaults included."""
    get = settings.get
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "megatron", get("micro_batch_size", "num_layers"), origin="presence")
    parts = (get("tensor_model_parallel_size"), get("pipeline_model_parallel_size"))
    whole = all(part is not None and part.number == 1 for part in parts)
    if not whole or get("deepspeed") is None:  # else DeepSpeed alone reduces gradients
        writer.tell("parallel.kind", "megatron", parts[0], origin="presence")
    _precision(writer, settings)
    _batch(writer, settings, launch)
    if not tell_clip(writer, get("clip_grad")):
        writer.default("clipping.kind", "global_norm")
        writer.default("clipping.value", 1.0)
        writer.by_library("clipping.unscaled_first", "clipping.per")
    _optimizer(writer, settings)
    _schedule(writer, settings)
    writer.by_library("zero_grad.where")
    recompute = get(
        *("recompute_granularity", "recompute_activations", "checkpoint_activations"),
        *("activations_checkpoint_method", "recompute_method"),
    )
    if recompute is not None:
        writer.tell("activation_checkpointing", "yes", recompute)
    tell_numbers(writer, "megatron-core", get, "seed", "data")
    if get("deepspeed") is not None:
        writer.tell("api", "deepspeed", get("deepspeed"), origin="presence")
    backend = get("distributed_backend")
    if backend is not None and backend.text in ("nccl", "gloo"):
        writer.tell("parallel.backend", backend.text, backend)


def _precision(writer: SettingWriter, settings: Settings) -> None:
    fp16, bf16 = settings.get("fp16"), settings.get("bf16")
    on = [flag for flag in (fp16, bf16) if flag is not None]
    if len(on) == 2:
        writer.warn("CC925", "--fp16 and --bf16 are both given", bf16)
    if not on:
        writer.default("precision.enabled", "never")
        writer.default("precision.compute_dtype", "float32")
        writer.tell("loss_scaling.mode", "none", origin="presence")
        return
    dtype = "float16" if on[0] is fp16 else "bfloat16"
    writer.tell("precision.enabled", "always", on[0])
    writer.tell("precision.dtypes", dtype, on[0])
    writer.tell("precision.compute_dtype", dtype, on[0])
    writer.tell("precision.mode", "mixed", on[0], origin="presence")
    if dtype == "bfloat16":
        writer.tell("loss_scaling.mode", "none", on[0], origin="presence")
        scale = settings.get("loss_scale")
        if scale is not None:
            writer.warn("CC927", "--loss-scale has no effect beside --bf16", scale)
        return
    _scaling(writer, settings, on[0])


def _scaling(writer: SettingWriter, settings: Settings, on: Setting) -> None:
    writer.by_library("scaler_update.status")
    scale = settings.get("loss_scale")
    if scale is not None and not scale.known:
        writer.unknown("loss_scaling.mode", scale.reason, scale)
        return
    if scale is not None and (scale.number or 0) > 0:
        if settings.get("deepspeed") is not None:
            # Megatron-DeepSpeed returns from get_megatron_optimizer before it makes a scaler.
            reason = "--loss-scale has no effect: DeepSpeed scales by its configuration"
            writer.warn("CC927", reason, scale)
        writer.tell("loss_scaling.mode", "static", scale)
        writer.number("loss_scaling.scale", scale)
        return
    stated = tuple(given for name in _SCALING if (given := settings.get(name)) is not None)
    writer.tell(
        "loss_scaling.mode", "dynamic" if stated else "framework_default", *(stated or (on,))
    )
    arguments = _DEFAULTS.arguments
    for name, field in _SCALING.items():
        setting = settings.get(name)
        if setting is None:
            writer.default(field, arguments[name.replace("_", "-")])
        else:
            writer.number(field, setting)


def _batch(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    micro, whole = settings.get("micro_batch_size"), settings.get("global_batch_size")
    writer.number("batch.micro_batch_size", micro)
    writer.number("batch.global_batch_size", whole)
    split = [
        settings.get(name)
        for name in (
            *("tensor_model_parallel_size", "pipeline_model_parallel_size"),
            "context_parallel_size",
        )
    ]
    parts = product_of(*split)
    processes = launch.command.processes
    world = processes.value if processes is not None else None
    world = world if isinstance(world, int) else 0
    given = [size for size in split if size is not None]
    over = world % parts if parts else 0
    if over and not _by_environment(processes, given):
        writer.warn(
            "CC928",
            f"the model is divided over {parts} processes, the launch starts {world}",
            next((size for size in given if size.number != 1), None),
            hint="processes must be a multiple of tensor x pipeline x context parallel sizes",
        )
    if whole is None or micro is None:
        return
    writer.tell("accumulation.present", "yes", micro, whole)
    writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    formula = "global-batch-size / (micro-batch-size * data parallel size)"
    ramp = settings.get("rampup_batch_size", "step_batch_size_schedule")
    rows, part = whole.number or 0, micro.number or 0
    if ramp is not None:
        writer.unknown(
            "accumulation.steps", "the batch size grows", whole, micro, ramp, text=formula
        )
    elif world and parts and not over and rows > 0 and part > 0:
        steps, rest = divmod(rows, part * (world // parts))
        if rest and not _by_environment(processes, [whole, micro, *given]):
            writer.warn("CC928", f"{formula} is not an integer", whole)
        elif rest:
            writer.unknown("accumulation.steps", "it is not an integer", whole, micro, text=formula)
        else:
            writer.tell(
                "accumulation.steps",
                int(steps),
                whole,
                micro,
                origin="derived",
                expression=formula,
            )
    else:
        reason = "the number of data-parallel processes is unknown"
        writer.unknown("accumulation.steps", reason, whole, micro, text=formula)


def _by_environment(processes: Fact | None, given: list[Setting]) -> bool:
    """Whether a number is only the default value of a variable: `${NODES:-1}`."""
    places = [*(processes.places if processes is not None else ())]
    places += [place for size in given for place in size.places]
    return any(_DEFAULTED.search(place.text) for place in places)


def _optimizer(writer: SettingWriter, settings: Settings) -> None:
    kind = settings.get("optimizer")
    word = "adam" if kind is None else kind.text
    # Megatron's "adam" decouples the decay by default.
    coupled = settings.get("no_decoupled_weight_decay", "adam_w_mode")
    family = {"adam": "adam" if coupled is not None else "adamw", "sgd": "sgd"}.get(word, "")
    if kind is None:
        writer.default("optimizer.name", family)
    else:
        writer.tell("optimizer.source_name", word, kind)
        if family:
            writer.tell("optimizer.name", family, kind)
    tell_numbers(writer, "megatron-core", settings.get, "optimizer")


def _schedule(writer: SettingWriter, settings: Settings) -> None:
    kind = setting_of("megatron-core", "schedule.name", settings.get)
    if kind is None:
        writer.default("schedule.name", "linear")
    else:
        tell_decay(writer, kind)
    ratio = settings.get("lr_warmup_fraction", "warmup")
    tell_warmup(writer, settings.get("lr_warmup_iters", "lr_warmup_samples"), ratio)
    tell_numbers(writer, "megatron-core", settings.get, "schedule")
    writer.tell("schedule.stepped_per", "step", kind, origin="presence")
    writer.by_library("schedule.on_skip")
