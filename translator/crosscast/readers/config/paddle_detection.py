"""Configurations of PaddleDetection: `OptimizerBuilder`, `LearningRate`, lists of schedulers."""

from __future__ import annotations

from crosscast.readers.config.paddle_words import (
    items_of,
    tell_amp,
    tell_length,
    tell_limits,
    tell_moments,
    tell_regularizer,
)
from crosscast.readers.config.settings import Said, Setting
from crosscast.readers.config.tree import Tree
from crosscast.readers.words import tell_decay, tell_optimizer


def tell_detection(said: Said, tree: Tree) -> None:
    """Say what a configuration means; what it leaves open is inherited from its bases."""
    amp = tree.setting("amp") or tree.setting("fp16") or tree.setting("use_fp16")
    tell_amp(said, amp, tree.setting("init_loss_scaling"), tree)
    for base in items_of(tree.get("_BASE_")):
        said.mention(base.text)
    if amp is None:
        said.tell("precision.enabled", "inherit", origin="presence", confidence="likely")
        said.tell("precision.compute_dtype", "inherit", origin="presence", confidence="likely")
    said.tell("zero_grad.where", "inherit", origin="presence")
    said.tell("parallel.kind", "inherit", origin="presence")
    said.number("run.epochs", tree.setting("epoch"))
    said.number("batch.micro_batch_size", tree.setting("TrainReader", "batch_size"))
    ema = tree.setting("use_ema")
    if ema is not None and ema.switch:
        said.number("ema.decay", tree.setting("ema_decay"))
    builder = tree.get("OptimizerBuilder")
    if builder is not None:
        tell_limits(said, builder)
        inner = builder.get("optimizer")
        family = ""
        if inner is not None:
            family = tell_optimizer(said, inner.setting("type"))
            tell_moments(said, inner)
        tell_regularizer(said, builder.get("regularizer"), inner or builder, family)
    rate = tree.get("LearningRate")
    if rate is not None:
        said.number("optimizer.learning_rate", rate.setting("base_lr"))
        _schedulers(said, rate)


def _schedulers(said: Said, rate: Tree) -> None:
    """Say what the list of schedulers is: types are given by a tag or by `name`."""
    for one in items_of(rate.get("schedulers")):
        name = one.tag.lstrip("!") or (one.setting("name") and one.text)
        kind = one.setting("name")
        word = name if isinstance(name, str) and name else kind.text if kind is not None else ""
        place = Setting(name="schedulers", value=word, places=(one.span,))
        if not word:
            continue
        if "warmup" in word.lower():
            tell_length(said, one.setting("steps"), "steps")
            tell_length(said, one.setting("epochs"), "epochs")
            continue
        gamma = one.get("gamma")
        factors = [g.value for g in items_of(gamma)] if gamma is not None else []
        if factors and all(factor == 1 for factor in factors):
            said.tell("schedule.name", "constant", place, one.setting("gamma"))
        else:
            tell_decay(said, place)
        said.tell("schedule.stepped_per", "step", place, origin="presence")
