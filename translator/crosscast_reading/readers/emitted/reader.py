"""Reads scripts that crosscast emitted, from their constants and function bodies.

The readers of frameworks understand such a script as any other; this one also says what only a
recipe has a name for. It looks for the functions and constants that every emitted script has, and
at nothing else: a script that was edited afterwards says what it now does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.emitted.course import course, schedule
from crosscast_reading.readers.emitted.optimizer import optimizer
from crosscast_reading.readers.emitted.script import NAME, Script
from crosscast_reading.readers.emitted.step import step

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program

_KINDS = (
    (
        r"\b(?:(?:binary|sigmoid)_cross_entropy_with_logits|sigmoid_binary_cross_entropy)\(",
        "binary_cross_entropy",
    ),
    (r"\b(?:mse_loss|squared_difference|jnp\.square)\(", "mse"),
    (r"\bclass_losses\(|cross_entropy\w*\(", "cross_entropy"),
)
"""What computes the loss of a row, and the kind."""
_HERE = ("row_losses", "micro_batch_loss")

_FIELDS = {
    "tensorboard": ("log_dir",),
    "mlflow": ("experiment", "name"),
    "wandb": ("project", "name"),
    "trackio": ("project", "name"),
}
_CALLS = {
    "tensorboard": ("self.tensorboard.add_scalar(", "tf.summary.scalar("),
    "mlflow": ("mlflow.log_metrics(",),
    "wandb": ("self.wandb.log(",),
    "trackio": ("trackio.log(",),
}
"""What a script calls for as long as it reports to a tracker."""


class EmittedReader:
    """Reads the output of `crosscast compile`."""

    name = NAME
    hints = ("def train_window", "def make_schedule")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield facts as fields of a recipe; other programs have none."""
        script = Script(tuple(program.modules))
        if script.is_configuration:
            yield from _configuration(script)
        if not script.is_emitted:
            return
        backend, of_backend = "", list[Fact]()
        for backend, framework in _backends(script)[:1]:
            yield Fact(field="framework", value=framework, origin="presence", reader=NAME)
            of_backend = [*course(script, backend), *_loss(script, backend)]
            yield from of_backend
            yield from _metrics(script, backend)
            yield from _tracking(script)
        yield from optimizer(script)
        yield from step(script, of_backend, backend)


def _backends(script: Script) -> list[tuple[str, str]]:
    """Return the backends whose frameworks the script imports, with the names of these."""
    from crosscast.targets.backend import installed_backends

    by_module = {
        backend.framework.module: (backend.name, backend.framework.word)
        for backend in installed_backends()
        if backend.framework
    }
    return [
        by_module[alias.name]
        for module in script.modules
        for statement in module.tree.body
        for alias in (statement.names if isinstance(statement, ast.Import) else ())
        if alias.name in by_module
    ]


def _tracking(script: Script) -> Iterator[Fact]:
    """Yield the facts about the trackers that a script still reports to."""
    names = script.constants.get("TRACKING")
    if not isinstance(names, dict) or "Tracking(run)" not in script.text("train"):
        return
    text = script.text("Tracking")
    for tracker, fields in _FIELDS.items():
        if any(call in text for call in _CALLS[tracker]):
            for path in (f"{tracker}.{field}" for field in fields):
                if isinstance(names.get(path), str):
                    yield script.fact(f"tracking.{path}", names[path], "TRACKING")


def _configuration(script: Script) -> Iterator[Fact]:
    """Yield the facts that only recipes have fields for; the readers of layers yield the rest."""
    yield from script.constant("seed", "SEED")
    yield from script.constant("batch.micro_batch_size", "MICRO_BATCH_SIZE")
    yield from script.constant("accumulation.steps", "ACCUMULATION_STEPS")
    if "PROCESSES" in script.constants:
        yield script.fact("distributed.strategy", "data_parallel", "PROCESSES")
        yield from script.constant("distributed.processes_per_node", "PROCESSES")
    yield script.fact("data.shuffle", "shuffle=True" in script.text("make_loader"), "make_loader")
    text = script.all_text()
    yield script.fact("precision.tf32", "matmul_precision('high')" in text)
    yield from schedule(script)
    yield from optimizer(script)
    yield from _window(script)


def _window(script: Script) -> Iterator[Fact]:
    """Yield how short windows end, what divides the losses, and what advances the schedule."""
    trained = script.text("train", "train_window")
    if "make_accelerator" in script.functions:
        if script.constants["ACCUMULATION_STEPS"] > 1:
            carries = "sync_with_dataloader=False" in script.text("make_accelerator")
            tail = "carry" if carries else "flush"
            yield script.fact("accumulation.tail", tail, "make_accelerator")
        waits = "optimizer_step_was_skipped" in trained
    elif "windows" in script.functions:
        yield from _own_windows(script, trained)
        waits = "if scaler.get_scale() >= scale" in trained
    else:
        waits = False  # Lightning always advances it
    yield script.fact("schedule.tick", "update" if waits else "attempt", "train", "train_window")


def _own_windows(script: Script, trained: str) -> Iterator[Fact]:
    cut = script.text("windows")
    steps = script.constants["ACCUMULATION_STEPS"]
    full = script.constants.get("FULL_WINDOW")
    if re.search(r"if window:\n\s+yield window", cut):
        tail = "flush" if full else "flush_renormalized"
    else:
        tail = "drop" if cut.rstrip().count("window = []") > 1 else "carry"
    yield script.fact("accumulation.tail", tail, "windows")
    unit = "microbatch"
    if "-100" in trained:
        unit = "token"
    elif "count = sum(" in trained or full not in (None, steps):
        unit = "sample"
    yield script.fact("accumulation.normalize_by", unit, "train_window")


def _loss(script: Script, backend: str) -> Iterator[Fact]:
    """Yield the facts about the loss; none if it is no longer one that a script is emitted with."""
    target = script.constants.get("SETTINGS.target", "labels")
    text = script.text(*_HERE)
    function = script.imported("own_losses")
    if function and "own_losses(" in text:
        yield script.fact("loss.kind", "custom", *_HERE)
        yield script.fact(f"loss.function.{backend}", function, *_HERE)
        if target is not None:
            yield script.fact("loss.target", target, "SETTINGS.target", "SETTINGS")
        return
    kind = next((kind for pattern, kind in _KINDS if re.search(pattern, text)), "")
    if not kind:
        return
    yield script.fact("loss.kind", kind, *_HERE)
    yield script.fact("loss.target", target, "SETTINGS.target", "SETTINGS")
    if kind == "cross_entropy":
        yield from _of_classes(script, text)


def _metrics(script: Script, backend: str) -> Iterator[Fact]:
    """Yield the facts about the user's metrics that an evaluation reports."""
    if "metric_sums(" not in script.text("evaluate", "evaluate_batch"):
        return
    for name, function in script.named("METRICS").items():
        yield script.fact(f"metrics.custom.{name}.{backend}", function, "evaluate")


def _of_classes(script: Script, text: str) -> Iterator[Fact]:
    """Yield the smoothing and the weights that the losses of labels have."""
    losses = script.text("class_losses") if "class_losses(" in text else ""
    smoothing: float = 0.0
    weights: tuple[float, ...] = ()
    if "LABEL_SMOOTHING" in losses:
        smoothing = script.constants.get("LABEL_SMOOTHING", 0.0)
    if "CLASS_WEIGHTS" in losses:
        weights = script.constants.get("CLASS_WEIGHTS", ())
    yield script.fact("loss.label_smoothing", float(smoothing), "LABEL_SMOOTHING", *_HERE)
    factors = [float(weight) for weight in weights]
    yield script.fact("loss.class_weights", factors, "CLASS_WEIGHTS", *_HERE)


READER = EmittedReader()
