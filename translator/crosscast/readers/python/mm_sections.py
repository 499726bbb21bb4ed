"""Sections that configurations of MMEngine and MMCV share."""

from __future__ import annotations

from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import tell_torch_class
from crosscast.targets.parameter_words import scaling_words


def tell_checkpointing(writer: SettingWriter, tree: Tree) -> None:
    """Record whether the backbone uses activation checkpointing."""
    switch = tree.setting("model", "backbone", "with_cp")
    if switch is not None and switch.switch is not None:
        writer.tell("activation_checkpointing", "yes" if switch.switch else "none", switch)


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
    if clip is None:
        return
    setting = clip.as_setting("clip_grad")
    if clip.keys is None:
        if clip.value is None:
            writer.tell("clipping.kind", "none", setting)
        return
    norm, value = clip.setting("max_norm"), clip.setting("clip_value")
    limit = norm or value
    writer.tell(
        "clipping.kind", "value" if norm is None and value is not None else "global_norm", limit
    )
    writer.number("clipping.value", limit)
    writer.by_library("clipping.unscaled_first", "clipping.per")


def tell_typed_optimizer(writer: SettingWriter, optimizer: Tree) -> None:
    """Record the facts of a dictionary with the type and the arguments of an optimizer."""
    tell_torch_class(writer, optimizer.setting("type"), optimizer)


def tell_groups(writer: SettingWriter, groups: Tree | None) -> None:
    """Record that some parameters have no weight decay."""
    if groups is None:
        return
    spared = ("decay_mult", "norm_decay_mult", "bias_decay_mult")
    for part in groups.walk():
        for name in spared:
            setting = part.get(name) if part.keys is not None else None
            if setting is not None and setting.value == 0 and not isinstance(setting.value, bool):
                writer.tell("optimizer.no_decay", "yes", setting.as_setting(name))
                return
