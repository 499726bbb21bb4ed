"""Configurations of PaddleVideo: `OPTIMIZER` with a schedule, a decay and a clip inside."""

from __future__ import annotations

from crosscast.readers.config.paddle_words import tell_length, tell_moments
from crosscast.readers.settings import Setting, SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import tell_decay, tell_optimizer

_CLIPS = {"global": "global_norm", "value": "value"}
"""Words in the name of a clip, and what it limits."""

_WINDOW = {"loss_divided": "yes", "tail": "dropped", "no_sync": "no"}
"""What the training loop of PaddleVideo does with a window; every epoch clears the gradients."""


def tell_video(writer: SettingWriter, tree: Tree) -> None:
    """Record the facts of a configuration; the launch decides about half precision."""
    optimizer = tree.section("OPTIMIZER")
    family = tell_optimizer(writer, optimizer.setting("name"))
    tell_moments(writer, optimizer)
    _decay(writer, optimizer, family)
    _clip(writer, optimizer.section("grad_clip"))
    _schedule(writer, optimizer)
    whole = tree.setting("GRADIENT_ACCUMULATION", "global_batch_size")
    if whole is not None:
        writer.tell("accumulation.present", "yes", whole)
        reason = "rows of a window, which batches and processes divide"
        writer.unknown("accumulation.steps", reason, whole, text=whole.text)
        for name, word in _WINDOW.items():
            writer.tell(f"accumulation.{name}", word, whole, origin="presence")
    writer.number("run.epochs", tree.setting("epochs"))
    writer.number("batch.micro_batch_size", tree.setting("DATASET", "batch_size"))
    writer.tell("zero_grad.where", "after_step", origin="presence")
    writer.by_library("parallel.kind")


def _decay(writer: SettingWriter, optimizer: Tree, family: str) -> None:
    section = optimizer.section("weight_decay")
    if "L1" in section.section("name").text:
        return
    made = section.keys is not None
    strength = section.setting("value") if made else optimizer.setting("weight_decay")
    coupled = family != "adamw"
    writer.number(f"optimizer.{'l2' if coupled else 'weight_decay'}", strength)


def _clip(writer: SettingWriter, section: Tree) -> None:
    name = section.setting("name")
    kinds = [] if name is None else [k for word, k in _CLIPS.items() if word in name.text.lower()]
    for kind in kinds[:1]:
        writer.tell("clipping.kind", kind, name)
        writer.number("clipping.value", section.setting("value"))
        writer.tell("clipping.per", "step", name, origin="presence")
        writer.tell("clipping.unscaled_first", "library", name, origin="presence")


def _schedule(writer: SettingWriter, optimizer: Tree) -> None:
    rate = optimizer.section("learning_rate")
    if rate.keys is None:
        writer.number("optimizer.learning_rate", optimizer.setting("learning_rate"))
        return
    inner = rate.section("learning_rate")  # of a warm-up around another schedule
    decay = rate if inner.keys is None else inner
    writer.number("optimizer.learning_rate", _peak(decay))
    kind = decay.setting("name")
    if kind is not None:
        tell_decay(writer, kind)
        per_step = rate.setting("iter_step")
        stepped = per_step is not None and per_step.switch is True
        unit = "step" if stepped else "epoch"
        writer.tell("schedule.stepped_per", unit, per_step or kind, origin="presence")
    tell_length(writer, rate.setting("warmup_epochs"), rate.setting("warmup_steps"))


def _peak(rate: Tree) -> Setting | None:
    names = ("learning_rate", "cosine_base_lr", "step_base_lr")
    return next((found for name in names if (found := rate.setting(name)) is not None), None)
