"""Recipes with every kind of loss, rows for them, and what their losses are, by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from crosscast.recipe.document import Recipe
from crosscast.recipe.section import BELOW_ONE, LARGEST, SMALLEST
from frameworks.emitted_script import tiny_recipe

BACKENDS = ("torch", "tensorflow", "paddle", "jax")
ROWS, CLASSES, TOKENS = 6, 3, 4
WEIGHTS = (0.5, 1.0, 2.0)
FARTHEST = (SMALLEST, 1.0, LARGEST / 8)
"""As far apart as weights can be while the sum of the rows' losses is still a float32."""
SMOOTHING = 0.1
Rows = dict[str, np.ndarray]
Losses = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class LossCase:
    """A loss, the shape of the model's outputs, and the loss of every row or label."""

    loss: dict[str, Any]
    outputs: tuple[int, ...]
    """Shape of the outputs behind the rows."""
    losses: Losses
    unit: str = "sample"
    metrics: tuple[str, ...] = ()
    """What the evaluation has besides, see `metrics_of`."""

    def recipe(self) -> Recipe:
        """Return the recipe; the model is `my_model.build_model` with an output for every name."""
        factory = dict.fromkeys(BACKENDS, "my_model:build_model")
        own = {name: dict.fromkeys(BACKENDS, f"my_losses:{name}") for name in self.metrics}
        return tiny_recipe(
            model={"kind": "custom", "factory": factory},
            loss=self.loss,
            metrics={"custom": own},
            accumulation={"normalize_by": self.unit},
        )

    def rows(self) -> Rows:
        """Return rows: `x`, which the model gives back in another shape, and the target."""
        rng = np.random.default_rng(5)
        x = rng.normal(size=(ROWS, int(np.prod(self.outputs, initial=1)))).astype(np.float32)
        if self.loss["kind"] != "cross_entropy":
            y = rng.uniform(size=(ROWS, *self.outputs)).astype(np.float32)
            if self.unit == "token":
                y[0, 1] = y[3] = -100
            return {"x": x, "y": y}
        labels = rng.integers(0, CLASSES, (ROWS, *self.outputs[:-1]))
        if self.unit == "token":
            labels[0, 1] = labels[3] = -100
        return {"x": x, self.loss.get("target", "labels"): labels}

    def metrics_of(self, rows: Rows) -> dict[str, float]:
        """Return the mean over rows or labels of the outputs' squares, and of those above 0."""
        outputs = rows["x"].astype(np.float64).reshape(ROWS, -1)
        if self.unit == "token":
            labels = rows[self.loss.get("target", "labels")]
            outputs = rows["x"].astype(np.float64).reshape(*labels.shape, -1)[labels != -100]
        found = {"squares": outputs**2, "positive": outputs.sum(-1) > 0}
        return {name: float(found[name].mean()) for name in self.metrics}

    def expected(self, rows: Rows) -> np.ndarray:
        """Return the loss of every row, or of every label."""
        outputs = rows["x"].astype(np.float64).reshape(ROWS, *self.outputs)
        return self.losses(outputs, rows.get("labels", rows.get("y", outputs)))


def cross_entropy(smoothing: float = 0.0, weights: tuple[float, ...] = ()) -> Losses:
    """Return the cross-entropy as docs/reference/recipe.md has it."""

    def losses(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
        logits = logits - logits.max(-1, keepdims=True)
        minus_log = np.log(np.exp(logits).sum(-1, keepdims=True)) - logits
        known = np.where(labels == -100, 0, labels)
        found = np.take_along_axis(minus_log, known[..., None], -1)[..., 0]
        found = (1 - smoothing) * found + smoothing * minus_log.mean(-1)
        found = found * (np.asarray(weights)[known] if weights else 1.0)
        return np.where(labels == -100, 0.0, found)

    return losses


def _by_row(elements: np.ndarray) -> np.ndarray:
    means: np.ndarray = elements.reshape(ROWS, -1).mean(1)
    return means


def _mse(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return _by_row((outputs - targets) ** 2)


def _binary(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return _by_row(np.log1p(np.exp(-outputs)) + (1 - targets) * outputs)


def _own_tokens(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.where(targets == -100, 0.0, np.abs(outputs - targets))
    return found


def _own(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return _by_row(np.abs(outputs - targets))


METRICS = ("squares", "positive")
_CE, _MSE = {"kind": "cross_entropy"}, {"kind": "mse", "target": "y"}
_BINARY = {"kind": "binary_cross_entropy", "target": "y"}
_CUSTOM = {"kind": "custom", "function": dict.fromkeys(BACKENDS, "my_losses:absolute_errors")}
_SCALAR = {"kind": "custom", "function": dict.fromkeys(BACKENDS, "my_losses:mean_error")}
_TOKENS = {
    "kind": "custom",
    "function": dict.fromkeys(BACKENDS, "my_losses:token_errors"),
    "target": "y",
}
_SMOOTH = _CE | {"label_smoothing": SMOOTHING}
CASES = {
    "plain": LossCase(_CE, (CLASSES,), cross_entropy()),
    "smoothing": LossCase(_SMOOTH, (CLASSES,), cross_entropy(SMOOTHING)),
    "weights": LossCase(
        _CE | {"class_weights": list(WEIGHTS)}, (CLASSES,), cross_entropy(weights=WEIGHTS)
    ),
    "weights, mean": LossCase(
        _CE | {"class_weights": list(WEIGHTS)},
        (CLASSES,),
        cross_entropy(weights=WEIGHTS),
        unit="microbatch",
    ),
    "weights at both ends": LossCase(
        _CE | {"class_weights": list(FARTHEST)}, (CLASSES,), cross_entropy(weights=FARTHEST)
    ),
    "smoothing at its end": LossCase(
        _CE | {"label_smoothing": BELOW_ONE}, (CLASSES,), cross_entropy(BELOW_ONE)
    ),
    "tokens": LossCase(_CE | {"target": "y"}, (TOKENS, CLASSES), cross_entropy(), unit="token"),
    "tokens, smoothing": LossCase(
        _SMOOTH, (TOKENS, CLASSES), cross_entropy(SMOOTHING), unit="token"
    ),
    "tokens, weights": LossCase(
        _CE | {"class_weights": list(WEIGHTS)},
        (TOKENS, CLASSES),
        cross_entropy(weights=WEIGHTS),
        unit="token",
    ),
    "mse of numbers": LossCase(_MSE, (), _mse),
    "mse of rows": LossCase(_MSE, (4,), _mse),
    "mse of vectors": LossCase(_MSE, (4,), _mse, unit="microbatch"),
    "binary": LossCase(_BINARY, (2, 2), _binary),
    "metrics": LossCase(_CE, (CLASSES,), cross_entropy(), metrics=METRICS),
    "metrics, tokens": LossCase(
        _CE | {"target": "y"}, (TOKENS, CLASSES), cross_entropy(), unit="token", metrics=METRICS
    ),
    "metrics, mean": LossCase(_MSE, (4,), _mse, unit="microbatch", metrics=METRICS),
    "own": LossCase(_CUSTOM, (4,), _own, metrics=METRICS),
    "own, scalar": LossCase(_SCALAR, (4,), _own, unit="microbatch"),
    "own, tokens": LossCase(_TOKENS, (TOKENS,), _own_tokens, unit="token"),
}
