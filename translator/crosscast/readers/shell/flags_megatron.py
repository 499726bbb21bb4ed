"""Flags of Megatron-LM and of programs built on it."""

from __future__ import annotations

import re

from crosscast.facts.fact import Fact
from crosscast.readers.config.settings import Said, Setting, Settings
from crosscast.readers.shell.launch import Launch
from crosscast.readers.words import setting_of, tell_clip, tell_decay, tell_numbers, tell_warmup
from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from crosscast.targets.parameter_words import scaling_words

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


def tell(said: Said, settings: Settings, launch: Launch) -> None:
    """Say what the flags mean, Megatron's defaults included."""
    get = settings.get
    said.tell("framework", "pytorch", origin="presence")
    said.tell("api", "megatron", get("micro_batch_size", "num_layers"), origin="presence")
    said.tell("parallel.kind", "megatron", get("tensor_model_parallel_size"), origin="presence")
    _precision(said, settings)
    _batch(said, settings, launch)
    if not tell_clip(said, get("clip_grad")):
        said.default("clipping.kind", "global_norm")
        said.default("clipping.value", 1.0)
        said.by_library("clipping.unscaled_first", "clipping.per")
    _optimizer(said, settings)
    _schedule(said, settings)
    said.by_library("zero_grad.where")
    recompute = get("recompute_granularity", "recompute_activations", "checkpoint_activations")
    recompute = recompute or get("activations_checkpoint_method", "recompute_method")
    if recompute is not None:
        said.tell("activation_checkpointing", "yes", recompute)
    tell_numbers(said, "megatron-core", get, "seed", "data")
    if get("deepspeed") is not None:
        said.tell("api", "deepspeed", get("deepspeed"), origin="presence")


def _precision(said: Said, settings: Settings) -> None:
    fp16, bf16 = settings.get("fp16"), settings.get("bf16")
    on = [one for one in (fp16, bf16) if one is not None]
    if len(on) == 2:
        said.warn("CC925", "--fp16 and --bf16 are both given", bf16)
    if not on:
        said.default("precision.enabled", "never")
        said.default("precision.compute_dtype", "float32")
        said.tell("loss_scaling.mode", "none", origin="presence")
        return
    dtype = "float16" if on[0] is fp16 else "bfloat16"
    said.tell("precision.enabled", "always", on[0])
    said.tell("precision.dtypes", dtype, on[0])
    said.tell("precision.compute_dtype", dtype, on[0])
    said.tell("precision.mode", "mixed", on[0], origin="presence")
    if dtype == "bfloat16":
        said.tell("loss_scaling.mode", "none", on[0], origin="presence")
        scale = settings.get("loss_scale")
        if scale is not None:
            said.warn("CC927", "--loss-scale has no effect beside --bf16", scale)
        return
    _scaling(said, settings, on[0])


def _scaling(said: Said, settings: Settings, on: Setting) -> None:
    said.by_library("scaler_update.status")
    scale = settings.get("loss_scale")
    if scale is not None and (scale.number or 0) > 0:
        said.tell("loss_scaling.mode", "static", scale)
        said.number("loss_scaling.scale", scale)
        return
    stated = tuple(given for name in _SCALING if (given := settings.get(name)) is not None)
    said.tell("loss_scaling.mode", "dynamic" if stated else "framework_default", *(stated or (on,)))
    arguments = _DEFAULTS.arguments
    for name, field in _SCALING.items():
        setting = settings.get(name)
        if setting is None:
            said.default(field, arguments[name.replace("_", "-")])
        else:
            said.number(field, setting)


def _batch(said: Said, settings: Settings, launch: Launch) -> None:
    micro, whole = settings.get("micro_batch_size"), settings.get("global_batch_size")
    said.number("batch.micro_batch_size", micro)
    said.number("batch.global_batch_size", whole)
    split = [
        settings.get(name)
        for name in (
            *("tensor_model_parallel_size", "pipeline_model_parallel_size"),
            "context_parallel_size",
        )
    ]
    parts = 1
    for one in split:
        parts *= int((one.number if one is not None else None) or 1)
    processes = launch.command.processes
    world = processes.value if processes is not None and processes.known else None
    given = [one for one in split if one is not None]
    if isinstance(world, int) and world % max(parts, 1) and not _by_environment(processes, given):
        said.warn(
            "CC928",
            f"the model is divided over {parts} processes, the launch starts {world}",
            next((one for one in given if one.number != 1), None),
            hint="processes must be a multiple of tensor x pipeline x context parallel sizes",
        )
    if whole is None or micro is None:
        return
    said.tell("accumulation.present", "yes", micro, whole)
    said.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    formula = "global-batch-size / (micro-batch-size * data parallel size)"
    ramp = settings.get("rampup_batch_size", "step_batch_size_schedule")
    rows, part = whole.number, micro.number
    if ramp is not None:
        said.unknown("accumulation.steps", "the batch size grows", whole, micro, ramp, text=formula)
    elif isinstance(world, int) and rows and part and world % parts == 0 and world >= parts:
        steps, rest = divmod(rows, part * (world // parts))
        if rest and not _by_environment(processes, [whole, micro, *given]):
            said.warn("CC928", f"{formula} is no whole number", whole)
        elif rest:
            said.unknown("accumulation.steps", "it is no whole number", whole, micro, text=formula)
        else:
            said.tell(
                "accumulation.steps",
                int(steps),
                whole,
                micro,
                origin="derived",
                expression=formula,
            )
    else:
        reason = "the number of data-parallel processes is not known"
        said.unknown("accumulation.steps", reason, whole, micro, text=formula)


def _by_environment(processes: Fact | None, given: list[Setting]) -> bool:
    """Whether a number is only the default of a variable: `${NODES:-1}`."""
    places = [*(processes.places if processes is not None else ())]
    places += [place for one in given for place in one.places]
    return any(_DEFAULTED.search(place.text) for place in places)


def _optimizer(said: Said, settings: Settings) -> None:
    kind = settings.get("optimizer")
    word = "adam" if kind is None else kind.text
    # Megatron's "adam" decouples the decay unless it is told not to.
    coupled = settings.get("no_decoupled_weight_decay", "adam_w_mode")
    family = {"adam": "adam" if coupled is not None else "adamw", "sgd": "sgd"}.get(word, "")
    if kind is None:
        said.default("optimizer.name", family)
    else:
        said.tell("optimizer.source_name", word, kind)
        if family:
            said.tell("optimizer.name", family, kind)
    tell_numbers(said, "megatron-core", settings.get, "optimizer")


def _schedule(said: Said, settings: Settings) -> None:
    kind = setting_of("megatron-core", "schedule.name", settings.get)
    if kind is None:
        said.default("schedule.name", "linear")
    else:
        tell_decay(said, kind)
    ratio = settings.get("lr_warmup_fraction", "warmup")
    tell_warmup(said, settings.get("lr_warmup_iters", "lr_warmup_samples"), ratio)
    tell_numbers(said, "megatron-core", settings.get, "schedule")
    said.tell("schedule.stepped_per", "step", kind, origin="presence")
    said.by_library("schedule.on_skip")
