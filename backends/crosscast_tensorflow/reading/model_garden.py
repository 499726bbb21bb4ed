"""What experiments of TensorFlow's Model Garden mean, written as YAML or as objects of Python."""

from __future__ import annotations

from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    positive,
    tell_numbers,
    tell_optimizer,
    tell_precision,
    tell_schedule,
    tell_warmup,
)

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


def tell_experiment(writer: SettingWriter, tree: Tree) -> None:
    """Tell the facts of an experiment: its runtime, trainer and task."""
    runtime, trainer = tree.section("runtime"), tree.section("trainer")
    writer.tell("framework", "tensorflow", origin="presence")
    writer.tell("api", "tf_model_garden", origin="presence")
    scale = runtime.section("loss_scale").as_setting("loss_scale")
    mode = "dynamic" if scale.text == "dynamic" else "static"
    stated = scale.value is not None
    if (dtype := runtime.setting("mixed_precision_dtype")) is not None:
        compute = tell_precision(writer, dtype, scaled_by=mode if stated else "framework_default")
        if compute == "float16" and mode == "static":  # else it is not read
            writer.number("loss_scaling.scale", scale)
    strategy = runtime.section("distribution_strategy").as_setting("distribution_strategy")
    if kind := _STRATEGIES.get(strategy.text):
        writer.tell("parallel.kind", kind, strategy)
    writer.number("parallel.world_size", runtime.setting("num_gpus"))
    whole = tree.setting("task", "train_data", "global_batch_size")
    writer.number("batch.global_batch_size", whole)
    writer.number("schedule.total_steps", trainer.setting("train_steps"))
    config = trainer.section("optimizer_config")
    _optimizer(writer, tree, config)
    _schedule(writer, config)
    writer.by_library("zero_grad.where")


def _chosen(config: Tree, name: str) -> tuple[Setting | None, Tree]:
    """Return the `type` of a section, and the section inside that is called like it."""
    kind = config.setting(name, "type")
    return kind, config.section(name, "" if kind is None else kind.text)


def _optimizer(writer: SettingWriter, tree: Tree, config: Tree) -> None:
    kind, section = _chosen(config, "optimizer")
    tell_optimizer(writer, kind)
    tell_numbers(writer, "model garden", section.setting, "optimizer")
    coupled = tree.setting("task", "losses", "l2_weight_decay")
    writer.number("optimizer.l2", coupled)
    names = ("gradient_clip_norm", "global_clipnorm", "clipnorm", "clipvalue")
    limits = (positive(section.setting(name)) for name in names)
    if (clip := next(filter(None, limits), None)) is not None:
        word = {"clipnorm": "per_param_norm", "clipvalue": "value"}.get(clip.name, "global_norm")
        writer.tell("clipping.kind", word, clip)
        writer.number("clipping.value", clip)
        writer.by_library("clipping.per", "clipping.unscaled_first")
    writer.number("ema.decay", config.setting("ema", "average_decay"))


def _schedule(writer: SettingWriter, config: Tree) -> None:
    kind, section = _chosen(config, "learning_rate")
    rate = section.get("initial_learning_rate") or section.get("learning_rate")
    rate = rate or section.get("values", 0)
    writer.number("optimizer.learning_rate", None if rate is None else rate.as_setting("rate"))
    tell_schedule(writer, kind, _DECAYS)
    if kind is not None:
        writer.by_library("schedule.on_skip")
    _, warmup = _chosen(config, "warmup")
    tell_warmup(writer, warmup.setting("warmup_steps"))
