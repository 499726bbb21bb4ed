"""What experiments of TensorFlow's Model Garden mean, written as YAML or as objects of Python."""

from __future__ import annotations

from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import tell_decay, tell_numbers, tell_optimizer, tell_precision

_STRATEGIES = {
    "mirrored": "mirrored",
    "multi_worker_mirrored": "multiworker",
    "tpu": "tpu",
    "one_device": "none",
    "off": "none",
    "parameter_server": "strategy_by_flag",
}
_DECAYS = {
    "stepwise": "multistep",
    "power": "custom",
    "power_linear": "custom",
    "step_cosine_with_offset": "custom",
    "step_cosine": "custom",
}
"""Schedules whose names mean something else here than everywhere."""
_WARMUPS = {"linear": "warmup_steps", "polynomial": "warmup_steps"}


def tell_experiment(writer: SettingWriter, tree: Tree) -> None:
    """Tell the facts of an experiment: its runtime, trainer and task."""
    runtime = tree.get("runtime") or Tree(tree.span)
    trainer = tree.get("trainer") or Tree(tree.span)
    writer.tell("framework", "tensorflow", origin="presence")
    writer.tell("api", "tf_model_garden", origin="presence")
    scale = runtime.setting("loss_scale")
    stated = scale is not None and scale.value is not None
    dynamic = scale is not None and scale.text == "dynamic"
    mode = "dynamic" if dynamic else "static"
    if (dtype := runtime.setting("mixed_precision_dtype")) is not None:
        tell_precision(writer, dtype, scaled_by=mode if stated else "framework_default")
    if scale is not None and stated:
        writer.tell("loss_scaling.mode", mode, scale)
        if not dynamic:
            writer.number("loss_scaling.scale", scale)
    strategy = runtime.setting("distribution_strategy")
    if strategy is not None and (kind := _STRATEGIES.get(strategy.text)):
        writer.tell("parallel.kind", kind, strategy)
    writer.number("parallel.world_size", runtime.setting("num_gpus"))
    whole = tree.setting("task", "train_data", "global_batch_size")
    writer.number("batch.global_batch_size", whole)
    writer.number("schedule.total_steps", trainer.setting("train_steps"))
    config = trainer.get("optimizer_config")
    if config is not None:
        _optimizer(writer, tree, config)
        _schedule(writer, config)
    writer.by_library("zero_grad.where")


def _optimizer(writer: SettingWriter, tree: Tree, config: Tree) -> None:
    kind = config.setting("optimizer", "type")
    section = None
    if kind is not None:
        tell_optimizer(writer, kind)
        section = config.get("optimizer", kind.text)
    if section is not None:
        tell_numbers(writer, "model garden", section.setting, "optimizer")
    coupled = tree.setting("task", "losses", "l2_weight_decay")
    writer.number("optimizer.l2", coupled)
    clip = None
    for name in ("gradient_clip_norm", "global_clipnorm", "clipnorm", "clipvalue"):
        if section is not None and (found := section.setting(name)) is not None:
            clip = clip or (found if found.number else None)
    if clip is not None:
        name = clip.name
        word = {"clipnorm": "per_param_norm", "clipvalue": "value"}.get(name, "global_norm")
        writer.tell("clipping.kind", word, clip)
        writer.number("clipping.value", clip)
        writer.by_library("clipping.per", "clipping.unscaled_first")
    ema = config.setting("ema", "average_decay")
    writer.number("ema.decay", ema)


def _schedule(writer: SettingWriter, config: Tree) -> None:
    kind = config.setting("learning_rate", "type")
    if kind is not None and kind.text:
        section = config.get("learning_rate", kind.text)
        tell_decay(writer, kind, _DECAYS)
        if section is not None:
            first = section.setting("initial_learning_rate") or section.setting("learning_rate")
            values = section.get("values")
            if first is not None:
                writer.number("optimizer.learning_rate", first)
            elif values is not None and values.items:
                writer.number("optimizer.learning_rate", values.items[0].as_setting("values"))
        writer.tell("schedule.stepped_per", "step", kind, origin="presence")
        writer.by_library("schedule.on_skip")
    warmup = config.setting("warmup", "type")
    if warmup is None or not warmup.text:
        return
    steps = config.setting("warmup", warmup.text, "warmup_steps")
    if steps is not None and steps.number is not None:
        writer.tell("schedule.warmup", f"{steps.number} steps", steps)
        writer.tell("schedule.has_warmup", "yes" if steps.number else "no", steps)
