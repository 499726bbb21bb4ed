"""What functions that losses are made of compute, beside what the tables say: `ROWS`, JSON out."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from probes.signatures import resolve

rng = np.random.default_rng(3)
outputs = rng.normal(size=(6, 4), scale=1.5).astype(np.float32)
numbers = rng.normal(size=(6, 4)).astype(np.float32)
classes = rng.integers(0, 4, 6)
between = outputs - numbers


def _entropies() -> np.ndarray:
    sums = np.log(np.exp(outputs).sum(axis=1))
    return np.asarray(sums - outputs[np.arange(6), classes])


KINDS = {
    "cross_entropy": _entropies(),
    "binary_cross_entropy": np.log1p(np.exp(outputs)) - outputs * (numbers > 0),
    "mse": between**2,
    "l1": np.abs(between),
    "smooth_l1": np.where(np.abs(between) < 1, between**2 / 2, np.abs(between) - 0.5),
}
LABELS: dict[str, np.ndarray] = {
    "cross_entropy": classes,
    "binary_cross_entropy": (numbers > 0).astype(np.float32),
}


def _loss(name: str, kind: str, labels_first: bool) -> Any:
    given = [outputs, LABELS.get(kind, numbers)]
    logits = name.startswith("keras.") and kind.endswith("cross_entropy")
    ordered = given[::-1] if labels_first else given
    return resolve(name)(*ordered, **({"from_logits": True} if logits else {}))


def _array(value: Any) -> np.ndarray:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _as_the_framework_has_it(package: str, array: np.ndarray) -> Any:
    makers = {"torch": "torch.from_numpy", "paddle": "paddle.to_tensor", "jax": "jax.numpy.asarray"}
    return resolve(makers[package])(array) if package in makers else array


def wrong(name: str, role: str, kind: str, factor: float, labels_first: bool) -> str:
    """Return what a row of a table says wrongly; empty if it is right."""
    try:
        resolve(name)
    except (AttributeError, ImportError):
        return f"there is no {name}"
    package = name.partition(".")[0]
    given = _as_the_framework_has_it(package, between)
    if role == "mean":
        found, wanted = _array(resolve(name)(given)), between.mean()
    elif role == "difference":
        found, wanted = _array(resolve(name)(given)).mean(), KINDS[kind].mean()
    else:
        losses = _array(_loss(name, kind, labels_first))
        if not losses.ndim:
            return f"{name} is one number"
        found, wanted = losses.mean(), factor * KINDS[kind].mean()
    right = found.ndim == 0 and abs(float(found) - float(wanted)) < 1e-5
    return "" if right else f"{name} is {found}, not {wanted}"


if __name__ == "__main__":
    print(json.dumps([each for row in json.loads(sys.argv[1]) if (each := wrong(*row))]))
