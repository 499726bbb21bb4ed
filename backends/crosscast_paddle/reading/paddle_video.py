"""Configurations of PaddleVideo: `MODEL` with a `framework`, `PIPELINE`, `OPTIMIZER`."""

from __future__ import annotations

import re
from dataclasses import replace

from crosscast_reading.readers.config.paddle_words import tell_length, tell_moments
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import first_given, tell_decay, tell_optimizer

_SECTIONS = frozenset({"MODEL", "DATASET", "PIPELINE", "OPTIMIZER"})
_FRAMEWORK = re.compile(r"^[ \t]+framework[ \t]*:", re.M)
_RATES = ("learning_rate", "base_lr", "cosine_base_lr", "step_base_lr")
_CLIPS = {"global": "global_norm", "value": "value"}
"""Words in the names of clips, and what they limit."""


def is_video(text: str, keys: frozenset[str]) -> bool:
    """Return whether a file with these outermost keys is PaddleVideo's."""
    return keys >= _SECTIONS and _FRAMEWORK.search(text) is not None


def tell_video(writer: SettingWriter, tree: Tree) -> None:
    """Record the facts of a configuration; mixed precision is an option of its launch command."""
    optimizer = tree.section("OPTIMIZER")
    family = tell_optimizer(writer, optimizer.setting("name"))
    tell_moments(writer, optimizer)
    _tell_decay_of_weights(writer, optimizer, family)
    _tell_clip(writer, optimizer)
    rate = optimizer.section("learning_rate")
    inner = rate.section("learning_rate")  # of a warm-up around another schedule
    peaks = inner if inner.keys is not None else rate
    plain = optimizer.setting("learning_rate") if rate.keys is None else None
    writer.number("optimizer.learning_rate", first_given(plain, *map(peaks.setting, _RATES)))
    _tell_schedule(writer, rate)
    _tell_window(writer, tree)
    rows = tree.setting("DATASET", "batch_size")
    writer.number("batch.micro_batch_size", rows)
    writer.number("run.epochs", tree.setting("epochs"))
    writer.tell("zero_grad.where", "after_step", origin="presence")
    writer.by_library("parallel.kind")


def _tell_decay_of_weights(writer: SettingWriter, optimizer: Tree, family: str) -> None:
    coupled = "optimizer.l2" if family in ("sgd", "adam") else "optimizer.weight_decay"
    inner = optimizer.section("weight_decay")
    if inner.keys is None:
        writer.number(coupled, optimizer.setting("weight_decay"))
    elif "L2" in inner.section("name").text.upper():
        writer.number("optimizer.l2", inner.setting("value"))
    else:
        kind = inner.setting("name")
        writer.unknown(coupled, "not a decay of the squares", kind or optimizer.setting("name"))


def _tell_clip(writer: SettingWriter, optimizer: Tree) -> None:
    clip = optimizer.section("grad_clip")
    kind = clip.setting("name")
    if kind is None:
        optimizer_name = optimizer.setting("name")
        if optimizer_name is not None and optimizer.get("grad_clip") is None:
            writer.tell("clipping.kind", "none", optimizer_name, origin="presence")
        return
    limited = [limit for word, limit in _CLIPS.items() if word in kind.text.lower()]
    if limited:
        writer.tell("clipping.kind", limited[0], kind)
        writer.number("clipping.value", clip.setting("value"))
        writer.tell("clipping.per", "step", kind, origin="presence")
        writer.tell("clipping.unscaled_first", "library", kind, origin="presence")
    else:
        writer.unknown("clipping.kind", f"a limit called {kind.text!r}", kind)


def _tell_schedule(writer: SettingWriter, rate: Tree) -> None:
    kind = first_given(rate.setting("name"))
    if kind is None:
        return
    inner = rate.section("learning_rate")  # of a warm-up around another schedule
    tell_decay(writer, first_given(inner.setting("name")) or kind)
    each = rate.setting("iter_step")
    if each is None or each.switch is not None:
        unit = "step" if each is not None and each.switch else "epoch"
        writer.tell("schedule.stepped_per", unit, each or kind, origin="presence")
    tell_length(writer, *map(rate.setting, ("warmup_epochs", "warmup_steps", "warmup_iters")))


def _tell_window(writer: SettingWriter, tree: Tree) -> None:
    """Record the window, whose length depends on the number of processes."""
    whole = tree.setting("GRADIENT_ACCUMULATION", "global_batch_size")
    if whole is None:
        return
    rows: Setting | None = tree.setting("DATASET", "batch_size")
    writer.number("batch.global_batch_size", whole)
    writer.tell("accumulation.present", "yes", whole)
    formula = "global_batch_size / (batch_size * processes)"
    reason = "the number of processes is not in this file"
    writer.unknown("accumulation.steps", reason, whole, rows, text=formula)
    writer.facts[-1] = replace(writer.facts[-1], origin="derived")
    for field, word in (("loss_divided", "yes"), ("tail", "dropped"), ("no_sync", "no")):
        writer.tell(f"accumulation.{field}", word, whole, origin="presence")
