"""Sections that configurations of MMEngine and MMCV share."""

from __future__ import annotations

from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import tell_torch_class


def tell_checkpointing(writer: SettingWriter, tree: Tree) -> None:
    """Record whether the backbone uses activation checkpointing."""
    switch = tree.setting("model", "backbone", "with_cp")
    writer.switch("activation_checkpointing", switch, off="none")


def tell_scale(
    writer: SettingWriter, scale: Tree | None, without: str, brain: bool = False
) -> None:
    """Record `loss_scale`: a number, `dynamic`, or arguments of a GradScaler."""
    if scale is None:
        writer.tell("loss_scaling.mode", "none" if brain else without, origin="presence")
    elif scale.keys is not None:
        writer.tell("loss_scaling.mode", "dynamic", scale.as_setting("loss_scale"))
        for name, field in scaling_words("torch").items():
            writer.number(field, scale.setting(name))
    elif scale.value == "dynamic":
        writer.tell("loss_scaling.mode", "dynamic", scale.as_setting("loss_scale"))
    else:
        setting = scale.as_setting("loss_scale")
        writer.tell("loss_scaling.mode", "static", setting)
        writer.number("loss_scaling.scale", setting)


def tell_clip_grad(writer: SettingWriter, clip: Tree | None) -> None:
    """Record the facts of a dictionary with `max_norm` or `clip_value`."""
    match clip:
        case None:
            pass
        case Tree(keys=dict() as keys):
            limit = clip.setting("max_norm") or clip.setting("clip_value")
            kind = "value" if "clip_value" in keys else "global_norm"
            writer.tell("clipping.kind", kind, limit)
            writer.number("clipping.value", limit)
            writer.by_library("clipping.unscaled_first", "clipping.per")
        case Tree(value=None):
            writer.tell("clipping.kind", "none", clip.as_setting("clip_grad"))
        case _:
            setting = clip.as_setting("clip_grad")
            writer.unknown("clipping.kind", clip.reason or "no dictionary", setting)


def tell_typed_optimizer(writer: SettingWriter, optimizer: Tree) -> None:
    """Record the facts of a dictionary with the type and the arguments of an optimizer."""
    tell_torch_class(writer, optimizer.setting("type"), optimizer)


def tell_groups(writer: SettingWriter, groups: Tree) -> None:
    """Record that some parameters have no weight decay."""
    for part in groups.walk():
        for name in ("decay_mult", "norm_decay_mult", "bias_decay_mult"):
            match part.setting(name):
                case Setting(number=0) as setting:
                    writer.tell("optimizer.no_decay", "yes", setting)
                    return
