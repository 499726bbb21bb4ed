"""JSON configurations of ERNIE: of its trainers (`model.optimization`) and of its encoder."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.messages.source import Source
from crosscast.readers.config.encoder_json import is_encoder, tell_encoder
from crosscast.readers.config.json_places import read_json
from crosscast.readers.config.settings import Said
from crosscast.readers.config.tree import Tree
from crosscast.readers.protocol import Reading
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
        """Return what the configuration says."""
        document = read_json(source)
        if document.tree is None:
            return Reading(diagnostics=tuple(document.diagnostics))
        first = next(iter((document.tree.keys or {}).values()), document.tree)
        said = Said(self.name, home=(first.key or first.span,))
        if is_encoder(source):
            tell_encoder(said, document.tree)
        else:
            _tell(said, document.tree)
        return Reading(
            facts=tuple(said.facts), diagnostics=(*document.diagnostics, *said.diagnostics)
        )


def _tell(said: Said, tree: Tree) -> None:
    trainer = tree.get("trainer") or tree
    optimization = tree.get("model", "optimization") or Tree(tree.span)
    said.tell("framework", "paddle", origin="presence")
    said.tell("api", "paddle_yaml", origin="presence")
    switch = trainer.setting("use_amp") or trainer.setting("use_fp16")
    on = switch is not None and switch.switch is True
    if switch is not None:
        said.tell("precision.flag", switch.name, switch)
        said.tell("precision.enabled", "always" if on else "never", switch)
        said.tell("precision.compute_dtype", "float16" if on else "float32", switch)
        if on:
            said.tell("precision.dtypes", "float16", switch)
    dygraph = tree.setting("model", "is_dygraph")
    _scaling(said, optimization, on, dygraph is not None and dygraph.switch is True)
    fleet = trainer.setting("PADDLE_IS_FLEET")
    if fleet is not None and fleet.switch:
        said.tell("parallel.kind", "fleet", fleet)
    tell_numbers(said, "ernie", optimization.setting, "optimizer")
    decay = optimization.setting("use_lr_decay")
    scheduler = optimization.setting("lr_scheduler")
    if scheduler is not None and scheduler.text in ("linear_warmup_decay", "noam_decay"):
        said.tell("schedule.name", scheduler.text.partition("_")[0], scheduler)
    elif decay is not None and decay.switch is not None:
        said.tell("schedule.name", "linear" if decay.switch else "constant", decay)
    steps = optimization.setting("warmup_steps")
    ratio = optimization.setting("warmup_proportion")
    if steps is not None and steps.number:
        tell_warmup(said, steps)
    else:
        tell_warmup(said, None, ratio)
    said.by_library("zero_grad.where")
    reader = tree.get("dataset_reader", "train_reader", "config")
    if reader is not None:
        said.number("batch.micro_batch_size", reader.setting("batch_size"))
        said.number("run.epochs", reader.setting("epoch"))


def _scaling(said: Said, optimization: Tree, on: bool, dygraph: bool) -> None:
    dynamic = optimization.setting("use_dynamic_loss_scaling")
    scale = optimization.setting("init_loss_scaling")
    if not on:
        said.tell("loss_scaling.mode", "none", origin="presence")
        return
    if dynamic is None and scale is None:
        said.tell("loss_scaling.mode", "framework_default", origin="presence")
    elif dynamic is not None and dynamic.switch is False and dygraph:
        # The dygraph trainers build a scaler from the other entries and never read this one.
        said.tell("loss_scaling.mode", "dynamic", scale or dynamic, confidence="likely")
        said.warn(
            "CC933",
            "use_dynamic_loss_scaling: false has no effect, the trainer builds a dynamic scaler",
            dynamic,
        )
    elif dynamic is not None and dynamic.switch is False:
        said.tell("loss_scaling.mode", "static", dynamic, scale)
        said.number("loss_scaling.scale", scale)
    else:
        said.tell("loss_scaling.mode", "dynamic", dynamic, scale)
    for name, field in scaling_words("paddle").items():
        said.number(field, optimization.setting(name))
    said.by_library("scaler_update.status")


READER = PaddleJson()
