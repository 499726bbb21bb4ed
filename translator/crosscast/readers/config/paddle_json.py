"""JSON configurations of ERNIE: of its trainers (`model.optimization`) and of its encoder."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.messages.source import Source
from crosscast.readers.config.encoder_json import is_encoder, tell_encoder
from crosscast.readers.config.json_places import read_json
from crosscast.readers.protocol import Reading
from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import tell_numbers, tell_warmup
from crosscast.targets.parameter_words import scaling_words


@dataclass(slots=True)
class PaddleJson:
    """Reads ERNIE's JSON."""

    name: str = "paddle_json"

    def sniff(self, source: Source) -> bool:
        """Return whether the text is such a configuration."""
        if is_encoder(source):
            return True
        text = source.text
        if not text.lstrip().startswith("{") or "PADDLE_" not in text or '"trainer"' not in text:
            return False
        tree = read_json(source).tree
        trainer = None if tree is None else tree.get("trainer")
        return trainer is not None and any(n.startswith("PADDLE_") for n in trainer.names())

    def read(self, source: Source) -> Reading:
        """Return the facts of the configuration."""
        document = read_json(source)
        if document.tree is None:
            return Reading(diagnostics=tuple(document.diagnostics))
        first = next(iter((document.tree.keys or {}).values()), document.tree)
        writer = SettingWriter(self.name, home=(first.key or first.span,))
        if is_encoder(source):
            tell_encoder(writer, document.tree)
        else:
            _tell(writer, document.tree)
        return Reading(
            facts=tuple(writer.facts), diagnostics=(*document.diagnostics, *writer.diagnostics)
        )


def _tell(writer: SettingWriter, tree: Tree) -> None:
    trainer = tree.get("trainer") or tree
    optimization = tree.get("model", "optimization") or Tree(tree.span)
    writer.tell("framework", "paddle", origin="presence")
    writer.tell("api", "paddle_yaml", origin="presence")
    switch = trainer.setting("use_amp") or trainer.setting("use_fp16")
    on = switch is not None and switch.switch is True
    if switch is not None:
        writer.tell("precision.flag", switch.name, switch)
        writer.tell("precision.enabled", "always" if on else "never", switch)
        writer.tell("precision.compute_dtype", "float16" if on else "float32", switch)
        if on:
            writer.tell("precision.dtypes", "float16", switch)
    dygraph = tree.setting("model", "is_dygraph")
    _scaling(writer, optimization, on, dygraph is not None and dygraph.switch is True)
    fleet = trainer.setting("PADDLE_IS_FLEET")
    if fleet is not None and fleet.switch:
        writer.tell("parallel.kind", "fleet", fleet)
    elif (spread := trainer.setting("is_distributed")) is not None and spread.switch:
        writer.tell("parallel.kind", "library", spread)
    tell_numbers(writer, "ernie", optimization.setting, "optimizer")
    decay = optimization.setting("use_lr_decay")
    scheduler = optimization.setting("lr_scheduler")
    if scheduler is not None and scheduler.text in ("linear_warmup_decay", "noam_decay"):
        writer.tell("schedule.name", scheduler.text.partition("_")[0], scheduler)
        writer.tell("schedule.stepped_per", "step", scheduler, origin="presence")
    elif decay is not None and decay.switch is not None:
        writer.tell("schedule.name", "linear" if decay.switch else "constant", decay)
    steps = optimization.setting("warmup_steps")
    ratio = optimization.setting("warmup_proportion")
    if steps is not None and steps.number:
        tell_warmup(writer, steps)
    else:
        tell_warmup(writer, None, ratio)
    if dygraph is not None and dygraph.switch:
        writer.by_library("zero_grad.where")
    else:
        writer.tell("zero_grad.where", "static_graph", origin="presence")
    reader = tree.get("dataset_reader", "train_reader", "config")
    if reader is not None:
        writer.number("batch.micro_batch_size", reader.setting("batch_size"))
        writer.number("run.epochs", reader.setting("epoch"))


def _scaling(writer: SettingWriter, optimization: Tree, on: bool, dygraph: bool) -> None:
    dynamic = optimization.setting("use_dynamic_loss_scaling")
    scale = optimization.setting("init_loss_scaling")
    if not on:
        writer.tell("loss_scaling.mode", "none", origin="presence")
        return
    if dynamic is None and scale is None:
        writer.tell("loss_scaling.mode", "framework_default", origin="presence")
    elif dynamic is not None and dynamic.switch is False and dygraph:
        # The dygraph trainers build a scaler from the other entries and never read this one.
        writer.tell("loss_scaling.mode", "dynamic", scale or dynamic, confidence="likely")
        writer.warn(
            "CC933",
            "use_dynamic_loss_scaling: false has no effect, the trainer builds a dynamic scaler",
            dynamic,
        )
    elif dynamic is not None and dynamic.switch is False:
        writer.tell("loss_scaling.mode", "static", dynamic, scale)
        writer.number("loss_scaling.scale", scale)
    else:
        writer.tell("loss_scaling.mode", "dynamic", dynamic, scale)
    for name, field in scaling_words("paddle").items():
        writer.number(field, optimization.setting(name))
    writer.by_library("scaler_update.status")


READER = PaddleJson()
