"""The sections fp16, bf16 and amp of a DeepSpeed configuration."""

from __future__ import annotations

import difflib

from crosscast.messages.diagnostics import Severity
from crosscast.targets.library_defaults import LIBRARY_DEFAULTS
from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import positive

AUTO = "auto: set by the program that starts DeepSpeed"
_SCALING = scaling_words("deepspeed")
_NAMES: dict[str, tuple[str, ...]] = {
    "fp16": (
        *("enabled", "auto_cast", "loss_scale", "initial_scale_power", "loss_scale_window"),
        *("hysteresis", "consecutive_hysteresis", "min_loss_scale"),
        "fp16_master_weights_and_grads",
    ),
    "bf16": (
        *("enabled", "immediate_grad_update", "check_grad_overflow"),
        *("bf16_master_weights_and_grads", "bf16_optimizer_states"),
    ),
}
_NAMES["bfloat16"] = _NAMES["bf16"]
"""Entries that DeepSpeed reads (deepspeedai/DeepSpeed 0ac46845, runtime/precision_config.py)."""
_CLOSE = 0.8
"""Least similarity of a misspelt name."""
_DEFAULTS = next(d for d in LIBRARY_DEFAULTS if d.api == "deepspeed fp16")


def tell_precision_sections(writer: SettingWriter, tree: Tree) -> None:
    """Record the facts of the sections fp16, bf16 and amp."""
    _misspelt(writer, tree)
    amp = _switch(tree, "amp")
    if _is_on(amp) is True:
        _apex(writer, amp, tree.setting("amp", "opt_level"))
        return
    fp16_on = _switch(tree, "fp16")
    bf16_on = _switch(tree, "bf16") or _switch(tree, "bfloat16")
    half, brain = _is_on(fp16_on), _is_on(bf16_on)
    if half is True and brain is True:
        writer.warn("CC925", "fp16 and bf16 are both enabled", bf16_on, severity=Severity.ERROR)
    types = {"float16": (fp16_on, half), "bfloat16": (bf16_on, brain)}
    auto = {dtype: switch for dtype, (switch, on) in types.items() if on is None}
    if half is True or brain is True:
        dtype, setting = ("float16", fp16_on) if half is True else ("bfloat16", bf16_on)
        writer.tell("precision.enabled", "always", setting)
        writer.tell("precision.dtypes", dtype, setting)
        writer.tell("precision.compute_dtype", dtype, setting)
        writer.tell("precision.mode", "mixed", setting, origin="presence")
    elif auto:
        writer.tell("precision.enabled", "config", *auto.values())
        for dtype, switch in auto.items():
            writer.tell("precision.dtypes", dtype, switch)
        writer.unknown("precision.compute_dtype", AUTO, *auto.values(), text="auto")
    else:
        given = [switch for switch in (fp16_on, bf16_on) if switch is not None]
        if given:
            writer.tell("precision.enabled", "never", *given)
            writer.tell("precision.compute_dtype", "float32", *given)
        else:
            writer.default("precision.enabled", "never")
            writer.default("precision.compute_dtype", "float32")
    if half is not False and brain is not True:
        _scaling(writer, tree.section("fp16"), fp16_on)
    else:
        writer.tell("loss_scaling.mode", "none", bf16_on, origin="presence")
    scale = positive(tree.setting("fp16", "loss_scale"))
    if half is False and scale is not None:
        writer.warn("CC927", "loss_scale has no effect: fp16 is not enabled", scale)


def _switch(tree: Tree, name: str) -> Setting | None:
    """Return the setting that switches a section on; None if there is no such section."""
    return tree.setting(name, "enabled") or tree.setting(name)


def _is_on(switch: Setting | None) -> bool | None:
    """Return whether a section is switched on; None for auto."""
    if switch is None or (switch.known and switch.value is None):
        return False
    return switch.value if isinstance(switch.value, bool) else None


def _misspelt(writer: SettingWriter, tree: Tree) -> None:
    """Report entries that DeepSpeed does not read, with names close to ones that it reads."""
    for section, names in _NAMES.items():
        given = tree.section(section)
        for name in sorted(given.names() - {*names}):
            near = difflib.get_close_matches(name, names, n=1, cutoff=_CLOSE)
            if near and near[0] not in given.names():
                writer.warn(
                    "CC933",
                    f"{section}.{name} has no effect: DeepSpeed reads {near[0]} (newer versions "
                    "refuse other names)",
                    given.setting(name),
                    hint=f"rename it to {near[0]}",
                )


def _apex(writer: SettingWriter, switch: Setting | None, level: Setting | None) -> None:
    writer.tell("api", "apex_amp", switch)
    writer.tell("precision.enabled", "always", switch)
    writer.tell("precision.dtypes", "float16", switch)
    writer.tell("precision.compute_dtype", "float16", switch)
    if level is not None:
        writer.tell("precision.level", level.text, level)
    writer.tell("loss_scaling.mode", "library", switch, origin="presence")
    writer.by_library("scaler_update.status")


def _scaling(writer: SettingWriter, fp16: Tree, on: Setting | None) -> None:
    scale = fp16.setting("loss_scale")
    power = fp16.setting("initial_scale_power")
    writer.by_library("scaler_update.status")
    number = 0 if scale is None else scale.number
    if number is None or number < 0:
        writer.unknown("loss_scaling.mode", _why_open(fp16, "loss_scale", "no number"), scale)
        return
    if number:
        writer.tell("loss_scaling.mode", "static", scale)
        writer.number("loss_scaling.scale", scale)
        return
    given = [entry for name in _SCALING if (entry := fp16.setting(name)) is not None]
    stated = tuple(setting for setting in (scale, power, *given) if setting is not None)
    writer.tell(
        "loss_scaling.mode", "dynamic" if stated else "framework_default", *(stated or (on,))
    )
    arguments = _DEFAULTS.arguments
    if power is None:
        writer.default("loss_scaling.init_scale", 2.0 ** int(str(arguments["initial_scale_power"])))
    elif (exponent := power.number) is None or not 0 <= exponent <= 1000:
        writer.unknown(
            "loss_scaling.init_scale", _why_open(fp16, "initial_scale_power", "no power"), power
        )
    else:
        writer.tell("loss_scaling.init_scale", 2.0**exponent, power, expression=f"2**{exponent}")
    for name, field in _SCALING.items():
        setting = fp16.setting(name)
        if setting is None:
            writer.default(field, arguments[name])
        else:
            writer.number(field, setting)
    for field in ("loss_scaling.growth_factor", "loss_scaling.backoff_factor"):
        writer.default(field, float(str(_DEFAULTS.fixed[field])))


def _why_open(fp16: Tree, name: str, otherwise: str) -> str:
    return AUTO if fp16.section(name).text == "auto" else otherwise
