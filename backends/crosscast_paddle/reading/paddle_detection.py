"""Configurations of PaddleDetection: `OptimizerBuilder`, `LearningRate`, lists of schedulers."""

from __future__ import annotations

from crosscast_reading.readers.config.paddle_words import (
    items_of,
    tell_amp,
    tell_length,
    tell_limits,
    tell_moments,
    tell_regularizer,
)
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import tell_decay, tell_optimizer


def tell_detection(writer: SettingWriter, tree: Tree) -> None:
    """Record the facts of a configuration; settings it omits are inherited from its bases."""
    amp = tree.setting("amp") or tree.setting("fp16") or tree.setting("use_fp16")
    tell_amp(writer, amp, tree.setting("init_loss_scaling"), tree)
    for base in items_of(tree.get("_BASE_")):
        writer.mention(base.text)
    if amp is None:
        writer.tell("precision.enabled", "inherit", origin="presence", confidence="likely")
        writer.tell("precision.compute_dtype", "inherit", origin="presence", confidence="likely")
    writer.tell("zero_grad.where", "inherit", origin="presence")
    writer.tell("parallel.kind", "inherit", origin="presence")
    writer.number("run.epochs", tree.setting("epoch"))
    writer.number("batch.micro_batch_size", tree.setting("TrainReader", "batch_size"))
    ema = tree.setting("use_ema")
    if ema is not None and ema.switch:
        writer.number("ema.decay", tree.setting("ema_decay"))
    builder = tree.section("OptimizerBuilder")
    tell_limits(writer, builder)
    optimizer = builder.section("optimizer")
    family = tell_optimizer(writer, optimizer.setting("type"))
    tell_moments(writer, optimizer)
    tell_regularizer(writer, builder.section("regularizer"), optimizer, family)
    rate = tree.section("LearningRate")
    writer.number("optimizer.learning_rate", rate.setting("base_lr"))
    _schedulers(writer, rate)


def _schedulers(writer: SettingWriter, rate: Tree) -> None:
    """Record the list of schedulers; a tag or `name` gives the type."""
    for scheduler in items_of(rate.get("schedulers")):
        word = scheduler.tag.lstrip("!") or scheduler.section("name").text
        place = Setting(name="schedulers", value=word, places=(scheduler.span,))
        if "warmup" in word.lower():
            tell_length(writer, scheduler.setting("steps"), scheduler.setting("epochs"))
            continue
        if not word:
            continue
        if {factor.value for factor in items_of(scheduler.get("gamma"))} == {1}:
            writer.tell("schedule.name", "constant", place, scheduler.setting("gamma"))
        else:
            tell_decay(writer, place)
        writer.tell("schedule.stepped_per", "step", place, origin="presence")
