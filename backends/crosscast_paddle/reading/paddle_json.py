"""JSON configurations of ERNIE: of its trainers (`model.optimization`) and of its encoder."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.readers.config.encoder_json import is_encoder, tell_encoder
from crosscast_reading.readers.config.json_format import JsonFormat
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import positive, tell_numbers, tell_warmup

_WORDS = ("PADDLE_", "num_attention_heads")


def _owns(source: Source, tree: Tree) -> bool:
    trainer = tree.section("trainer")
    return is_encoder(source) or any(name.startswith("PADDLE_") for name in trainer.names())


def _tell(writer: SettingWriter, tree: Tree) -> None:
    if tree.get("trainer") is None:
        tell_encoder(writer, tree)
    else:
        _tell_trainer(writer, tree)


def _tell_trainer(writer: SettingWriter, tree: Tree) -> None:
    flags = tree.section("trainer").settings()
    optimization = tree.section("model", "optimization")
    writer.tell("framework", "paddle", origin="presence")
    writer.tell("api", "paddle_yaml", origin="presence")
    switch = flags.get("use_amp", "use_fp16")
    on = flags.is_on("use_amp", "use_fp16")
    if switch is not None:
        writer.tell("precision.flag", switch.name, switch)
    writer.switch("precision.enabled", switch, "always", "never")
    writer.switch("precision.compute_dtype", switch, "float16", "float32")
    if on:
        writer.tell("precision.dtypes", "float16", switch)
    dygraph = tree.section("model", "is_dygraph").as_setting("is_dygraph").switch is True
    if on:
        _scaling(writer, optimization, dygraph)
    elif switch is None or switch.switch is False:
        writer.tell("loss_scaling.mode", "none", switch, origin="presence")
    if flags.is_on("PADDLE_IS_FLEET"):
        writer.tell("parallel.kind", "fleet", flags.get("PADDLE_IS_FLEET"))
    elif flags.is_on("is_distributed"):
        writer.tell("parallel.kind", "library", flags.get("is_distributed"))
    tell_numbers(writer, "ernie", optimization.setting, "optimizer")
    scheduler = optimization.setting("lr_scheduler")
    if scheduler is not None and scheduler.text in ("linear_warmup_decay", "noam_decay"):
        writer.tell("schedule.name", scheduler.text.partition("_")[0], scheduler)
        writer.tell("schedule.stepped_per", "step", scheduler, origin="presence")
    else:
        decay = optimization.setting("use_lr_decay")
        writer.switch("schedule.name", decay, "linear", "constant")
    tell_warmup(
        writer,
        positive(optimization.setting("warmup_steps")),
        optimization.setting("warmup_proportion"),
    )
    if dygraph:
        writer.by_library("zero_grad.where")
    else:
        writer.tell("zero_grad.where", "static_graph", origin="presence")
    reader = tree.section("dataset_reader", "train_reader", "config")
    writer.number("batch.micro_batch_size", reader.setting("batch_size"))
    writer.number("run.epochs", reader.setting("epoch"))


def _scaling(writer: SettingWriter, optimization: Tree, dygraph: bool) -> None:
    dynamic = optimization.setting("use_dynamic_loss_scaling")
    scale = optimization.setting("init_loss_scaling")
    fixed = dynamic is not None and dynamic.switch is False
    if dynamic is None and scale is None:
        writer.tell("loss_scaling.mode", "framework_default", origin="presence")
    elif fixed and dygraph:
        # The dygraph trainers build a scaler from the other entries and never read this one.
        writer.tell("loss_scaling.mode", "dynamic", scale or dynamic, confidence="likely")
        writer.warn(
            "CC933",
            "use_dynamic_loss_scaling: false has no effect, the trainer builds a dynamic scaler",
            dynamic,
        )
    elif fixed:
        writer.tell("loss_scaling.mode", "static", dynamic, scale)
        writer.number("loss_scaling.scale", scale)
    else:
        writer.tell("loss_scaling.mode", "dynamic", dynamic, scale)
    for name, field in scaling_words("paddle").items():
        writer.number(field, optimization.setting(name))
    writer.by_library("scaler_update.status")


READER = JsonFormat("paddle_json", _WORDS, _owns, _tell)
