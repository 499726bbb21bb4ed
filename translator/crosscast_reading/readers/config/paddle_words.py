"""What the YAML configurations of Paddle's suites have in common."""

from __future__ import annotations

from crosscast_reading.readers import words
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree


def tell_amp(
    writer: SettingWriter, switch: Setting | None, scale: Setting | None, tree: Tree
) -> None:
    """Record the switch of automatic mixed precision and its loss scale."""
    if switch is None:
        return
    writer.tell("precision.flag", switch.name, switch)
    if switch.switch is None:
        reason = switch.reason or f"{switch.name} is {switch.text!r}"
        writer.unknown("precision.compute_dtype", reason, switch)
        writer.tell("precision.enabled", "config", switch)
        return
    if not switch.switch:
        writer.tell("precision.enabled", "never", switch)
        writer.tell("precision.compute_dtype", "float32", switch)
        writer.tell("loss_scaling.mode", "none", switch, origin="presence")
        return
    dtype = tree.setting("dtype") or tree.setting("amp_dtype")
    brain = dtype is not None and words.TYPES.get(dtype.text.lower()) == "bfloat16"
    word = "bfloat16" if brain else "float16"
    writer.tell("precision.enabled", "always", switch)
    writer.tell("precision.dtypes", word, switch, dtype)
    writer.tell("precision.compute_dtype", word, switch, dtype)
    level = tree.setting("level") or tree.setting("amp_level")
    if level is not None and level.text:
        writer.tell("precision.level", level.text, level)
    if brain:
        writer.tell("loss_scaling.mode", "none", switch, origin="presence")
        return
    dynamic = tree.setting("use_dynamic_loss_scaling")
    if dynamic is not None and dynamic.switch is False:
        writer.tell("loss_scaling.mode", "static", dynamic, scale)
        writer.number("loss_scaling.scale", scale)
    elif dynamic is not None or scale is not None:
        writer.tell("loss_scaling.mode", "dynamic", dynamic, scale)
        writer.number("loss_scaling.init_scale", scale)
    else:
        writer.tell("loss_scaling.mode", "framework_default", switch, origin="presence")
    writer.by_library("scaler_update.status")


def tell_length(writer: SettingWriter, *settings: Setting | None) -> None:
    """Record how long the warm-up is, by the first setting that says it."""
    setting = words.first_given(*map(words.positive, settings), *settings)
    if setting is None or setting.number is None:
        return
    unit = "epochs" if "epoch" in setting.name.lower() else "steps"
    writer.tell("schedule.warmup", f"{setting.number} {unit}", setting)
    writer.tell("schedule.has_warmup", "yes" if setting.number else "no", setting)


def tell_moments(writer: SettingWriter, section: Tree) -> None:
    """Record the constants of an optimizer."""
    words.tell_numbers(writer, "paddle suites", section.setting, "optimizer")


def tell_regularizer(
    writer: SettingWriter, regularizer: Tree, optimizer: Tree, family: str
) -> None:
    """Record the weight decay of the optimizer itself or of a regularizer."""
    own, strength = optimizer.setting("weight_decay"), None
    kind = regularizer.section("name").text + regularizer.section("type").text
    if "l1" not in kind.lower():
        strength = words.first_given(regularizer.setting("coeff"), regularizer.setting("factor"))
    if family not in ("sgd", "adam"):
        writer.number("optimizer.weight_decay", own)
        own = None
    writer.number("optimizer.l2", strength or own)  # the suites ignore it beside a regularizer


def tell_limits(writer: SettingWriter, section: Tree) -> None:
    """Record how gradients are clipped."""
    for name, word in (
        ("clip_grad_by_norm", "global_norm"),
        ("clip_norm", "global_norm"),
        ("clip_grad_by_value", "value"),
    ):
        limit = section.setting(name)
        if limit is not None and limit.number:
            writer.tell("clipping.kind", word, limit)
            writer.number("clipping.value", limit)
            writer.tell("clipping.per", "step", limit, origin="presence")
            writer.tell("clipping.unscaled_first", "library", limit, origin="presence")
            return


def tell_grad_clip(writer: SettingWriter, optimizer: Tree) -> bool:
    """Record the clip object that an optimizer is made with, and return whether there is one."""
    clip = optimizer.get("grad_clip_cfg") or optimizer.section("grad_clip")
    if clip.keys is None:
        return False
    kind = clip.setting("name") or clip.setting("type")
    names = {"ClipGradByNorm": "per_param_norm", "ClipGradByValue": "value"}
    word = names.get("" if kind is None else kind.text, "global_norm")
    writer.tell("clipping.kind", word, kind)
    writer.number("clipping.value", clip.setting("max" if word == "value" else "clip_norm"))
    writer.tell("clipping.per", "step", kind, origin="presence")
    writer.tell("clipping.unscaled_first", "library", kind, origin="presence")
    return True


def items_of(tree: Tree | None) -> list[Tree]:
    """Return the entries of a list; a single value is a list of one."""
    if tree is None:
        return []
    return tree.items if tree.items is not None else [tree]
