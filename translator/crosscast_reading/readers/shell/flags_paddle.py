"""Flags of Paddle's training scripts: `--use_fp16`, `--use_amp`, loss scaling, fleet, recompute.

Without the script they are likely, not certain, because scripts differ in the flags they read.
"""

from __future__ import annotations

import re
from dataclasses import replace

from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter
from crosscast_reading.readers.shell.environment import is_paddle_variable
from crosscast_reading.readers.shell.launch import Launch
from crosscast_reading.readers.words import tell_numbers, tell_warmup, tell_window

_STRONG = frozenset(
    (
        *("use_fleet", "use_recompute", "init_loss_scaling", "use_dynamic_loss_scaling"),
        *("incr_every_n_steps", "decr_every_n_nan_or_inf", "init_pretraining_params"),
        *("num_iteration_per_drop_scope", "use_fast_executor", "use_pure_fp16", "scale_loss"),
        *("ernie_config_path", "is_distributed", "selected_gpus", "use_pure_bf16", "use_cuda"),
        *("bert_config_path", "use_data_parallel", "weight_sharing"),
    )
)
_SWITCHES = (
    "use_fp16",
    "use_amp",
    "use_pure_fp16",
    "use_pure_bf16",
    "use_mix_precision",
    "fp16",
    "amp",
)
_DEGREES = ("dp_degree", "mp_degree", "pp_degree", "sharding_degree")
"""Flags that scripts hand to `hybrid_configs` of Fleet; only the first keeps the model whole."""
_OF_PADDLE = re.compile(r"(^|[/_-])paddle\w{0,60}/")
"""Folders of programs that are named after the framework."""
_TENSORFLOW = frozenset({"use_xla", "xla", "horovod", "amp", "use_tpu", "tpu_name"})
_ERNIE = frozenset(
    (
        *("ernie_config_path", "bert_config_path", "init_pretraining_params", "use_fast_executor"),
        *("num_iteration_per_drop_scope", "skip_steps", "weight_sharing", "in_tokens", "use_cuda"),
        *("validation_steps", "warmup_proportion"),
    )
)
_DEFAULTS = next(d for d in LIBRARY_DEFAULTS if d.api == "paddle ernie flags")
_FIRST_SCALE = "loss_scaling.init_scale"
_SCALING = {name: field for name, field in scaling_words("paddle").items() if field != _FIRST_SCALE}


def owns(settings: Settings, launch: Launch) -> bool:
    """Return whether these are flags of a Paddle script."""
    if _OF_PADDLE.search(launch.command.program) and settings.having(_SWITCHES):
        return True
    if settings.having(_TENSORFLOW) and launch.command.launcher != "paddle":
        return False
    switched = settings.having(_SWITCHES)
    strong = settings.having(_STRONG)
    if launch.command.launcher == "paddle":
        return True
    if any(is_paddle_variable(variable.expression) for variable in launch.command.environment):
        return bool(switched or strong)
    return len(strong) >= 2 or (bool(switched) and bool(strong))


def tell(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    """Record the likely facts of the flags."""
    get = settings.get
    writer.tell("framework", "paddle", origin="presence")
    writer.tell("api", "paddle_cli_flags", get(*_SWITCHES, *sorted(_STRONG)), origin="presence")
    if not settings.having(_SWITCHES) and not settings.having(_STRONG):
        _parallel(writer, settings, launch)
        return
    on = _precision(writer, settings)
    _scaling(writer, settings, on)
    _batch(writer, settings)
    tell_numbers(writer, "paddle flags", get, "optimizer")
    share = get("warmup_proportion", "warmup_ratio", "warmup_rate")
    tell_warmup(writer, get("warmup_steps"), share)
    _clip(writer, get("grad_clip", "max_grad_norm"))
    tell_window(writer, get("gradient_accumulation_steps", "accumulate_steps"))
    if (own := get("update_freq")) is not None:  # how the script divides is not known
        writer.tell("accumulation.present", "yes", own)
        writer.number("accumulation.steps", own)
    recompute = get("use_recompute", "recompute")
    if recompute is not None and recompute.switch is not None:
        writer.tell("activation_checkpointing", "yes" if recompute.switch else "none", recompute)
    writer.number("data.sequence_length", get("max_seq_len", "max_seq_length"))
    writer.number("run.epochs", get("epoch", "num_epochs", "epochs", "num_train_epochs"))
    writer.number("seed", get("random_seed", "seed"))
    _parallel(writer, settings, launch)
    if len(settings.having(_ERNIE)) >= 3:
        _ernie(writer, settings)


def _batch(writer: SettingWriter, settings: Settings) -> None:
    """Record the rows of a batch; one that is counted in tokens has at least so many."""
    tokens, size = settings.get("in_tokens"), settings.get("batch_size")
    length = settings.get("max_seq_len", "max_seq_length")
    if tokens is None or tokens.switch is None or size is None:
        return
    if not tokens.switch:
        writer.number("batch.micro_batch_size", size)
    elif length is not None and length.number and size.number and size.number >= length.number:
        rows, name = int(size.number // length.number), "batch.micro_batch_size"
        writer.tell(name, rows, size, tokens, length, confidence="guess")
        reason = f"{size.number} tokens: {rows} rows of {length.number}, more of shorter ones"
        writer.facts[-1] = replace(writer.facts[-1], reason=reason)


def _clip(writer: SettingWriter, limit: Setting | None) -> None:
    """Record the limit of gradients; the script decides of which norm, or of each value."""
    if limit is not None and (limit.number or 0) > 0:
        writer.unknown("clipping.kind", "the script decides what it limits", limit)
        writer.number("clipping.value", limit)


def _ernie(writer: SettingWriter, settings: Settings) -> None:
    """Record the fixed behaviour of ERNIE's and LARK's scripts."""
    writer.default("zero_grad.where", "static_graph")
    writer.default("optimizer.name", "adamw")
    writer.default("optimizer.eps", _DEFAULTS.fixed["optimizer.eps"])
    writer.default("clipping.kind", "global_norm")
    writer.default("clipping.value", _DEFAULTS.fixed["clipping.max_norm"])
    writer.default("clipping.per", "step")
    if settings.get("lr_scheduler") is None:
        writer.default("schedule.name", "linear")
    writer.default("schedule.stepped_per", "step")


def _precision(writer: SettingWriter, settings: Settings) -> bool | None:
    """Record the precision; return whether half precision is in use, None if unknown."""
    switch = next((setting for name in _SWITCHES if (setting := settings.get(name))), None)
    if switch is None:
        writer.default("precision.enabled", "never")
        writer.default("precision.compute_dtype", "float32")
        return False
    writer.tell("precision.flag", f"--{switch.name}", switch)
    if isinstance(switch.value, tuple):
        switch = replace(switch, value=switch.value[0])  # words of another option follow it
    if switch.switch is None:
        reason = switch.reason or f"--{switch.name} is {switch.text!r}"
        writer.unknown("precision.compute_dtype", reason, switch)
        return None
    if not switch.switch:
        writer.tell("precision.enabled", "never", switch)
        writer.tell("precision.compute_dtype", "float32", switch)
        return False
    dtype = "bfloat16" if "bf16" in switch.name else "float16"
    writer.tell("precision.enabled", "always", switch)
    writer.tell("precision.dtypes", dtype, switch)
    writer.tell("precision.compute_dtype", dtype, switch)
    return True


def _scaling(writer: SettingWriter, settings: Settings, on: bool | None) -> None:
    dynamic = settings.get("use_dynamic_loss_scaling")
    scale = settings.get("init_loss_scaling", "loss_scaling", "scale_loss")
    if on is False:
        writer.tell("loss_scaling.mode", "none", origin="presence")
        if scale is not None and (scale.number or 0) > 1:
            writer.warn("CC927", f"--{scale.name} has no effect: half precision is off", scale)
        return
    if dynamic is not None and dynamic.switch is True:
        writer.tell("loss_scaling.mode", "dynamic", dynamic)
        writer.number(_FIRST_SCALE, scale)
        for name, field in _SCALING.items():
            writer.number(field, settings.get(name))
    elif scale is not None and (dynamic is not None or scale.name == "loss_scaling"):
        none = scale.number == 1
        writer.tell("loss_scaling.mode", "none" if none else "static", scale)
        if not none:
            writer.number("loss_scaling.scale", scale)
    elif scale is not None:
        writer.number(_FIRST_SCALE, scale)
        writer.unknown("loss_scaling.mode", "the script decides whether it is dynamic", scale)
    else:
        writer.unknown("loss_scaling.mode", "the script has the defaults of its flags")


def _parallel(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    fleet = settings.get("use_fleet")
    many = launch.command.processes
    several = many is not None and many.known and many.value != 1
    distributed = settings.get("is_distributed")
    degrees = [setting for name in _DEGREES if (setting := settings.get(name))]
    if fleet is not None and fleet.switch:
        writer.tell("parallel.kind", "fleet", fleet)
    elif len(degrees) >= 2 and any(
        degree.number is None or degree.number > 1
        for degree in degrees
        if degree.name != _DEGREES[0]
    ):
        writer.tell("parallel.kind", "fleet_hybrid", *degrees)
    elif distributed is not None and not distributed.known:
        writer.tell("parallel.kind", "paddle_transpiler", distributed, confidence="guess")
    elif launch.command.launcher == "paddle":
        given = [_given(name, launch) for name in ("gpus", "devices", "selected_gpus")]
        writer.tell("parallel.kind", "paddle_dp", *given, confidence="guess")
    elif settings.is_on("is_distributed") or several:
        given = [_given(name, launch) for name in ("nproc_per_node", "selected_gpus")]
        writer.tell(
            "parallel.kind",
            "paddle_transpiler",
            settings.get("is_distributed"),
            *given,
        )


def _given(name: str, launch: Launch) -> Setting | None:
    fact = launch.options.get(name)
    return None if fact is None else Setting(name=name, value=fact.value, places=fact.places)
