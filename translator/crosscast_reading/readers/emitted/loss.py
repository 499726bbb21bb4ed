"""Emitted scripts: the loss and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.emitted.script import Script

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


def loss(script: Script, backend: str) -> Iterator[Fact]:
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


def metrics(script: Script, backend: str) -> Iterator[Fact]:
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
