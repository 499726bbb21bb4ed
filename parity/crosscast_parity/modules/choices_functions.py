"""What activations, gates, factors and tables of positions would return with each choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from crosscast_parity.modules import formulas
from crosscast_parity.modules.kinds import WORDS
from crosscast_parity.modules.steps import Step

Choices = Iterator[tuple[str, np.ndarray]]
SLOPES = (0.01, 0.2, 0.3, 0.1)
FIRST_POSITIONS = (0, 1, 2, 3, 4)
GATES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": formulas.sigmoid,
    "hard sigmoid of slope 1/6": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard sigmoid of slope 0.2": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "tanh": np.tanh,
    "hard tanh": lambda x: np.clip(x, -1, 1),
    "softmax": lambda x: _softmax(x),
}
"""Functions with values between constants; a result times one of them is a gate."""
ACTIVATIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "GELU by erf": formulas.gelu_erf,
    "GELU by tanh": formulas.gelu_tanh,
    "GELU by sigmoid": lambda x: x * formulas.sigmoid(1.702 * x),
    "ReLU": lambda x: np.maximum(x, 0),
    "SiLU": lambda x: x * formulas.sigmoid(x),
    "hard SiLU": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "hard SiLU of slope 0.2": lambda x: x * np.clip(0.2 * x + 0.5, 0, 1),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    **GATES,
    "softplus": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "ELU": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "SELU": lambda x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))
    ),
    "ReLU6": lambda x: np.clip(x, 0, 6),
    "squared ReLU": lambda x: np.maximum(x, 0) ** 2,
    "none": lambda x: x,
    **{
        f"leaky ReLU of {slope:g}": lambda x, slope=slope: np.where(x > 0, x, slope * x)  # type: ignore[misc]
        for slope in SLOPES
    },
}


def _softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def activations(step: Step) -> Choices:
    """Yield the last result after each activation."""
    x = _before_activation(step)
    if x is None or x.shape != step.y.shape or not x.ndim:
        return
    for name, function in ACTIVATIONS.items():
        yield name, function(x)


def _before_activation(step: Step) -> np.ndarray | None:
    """Return the input of an activation: the last result, or the sums of a dense layer."""
    x = step.x[0].astype(np.float64)
    kernels, biases = step.tensors.get("kernel", ()), step.tensors.get("bias", ())
    if step.group not in ("", "activation", "dense") and step.group in WORDS:
        return None
    if not step.tensors:
        return x
    if set(step.tensors) - {"kernel", "bias"} or len(kernels) != 1 or len(biases) > 1:
        return None
    (kernel,) = kernels
    if kernel.ndim != 2 or x.shape[-1] != kernel.shape[1]:
        return None
    output: np.ndarray = x @ kernel.T.astype(np.float64) + (biases[0] if biases else 0.0)
    return output


def gates(step: Step) -> Choices:
    """Yield an earlier result times each function of the last one."""
    if step.group != "":
        return
    last, *others = (x.astype(np.float64) for x in step.x)
    for other in others:
        if other.shape != step.y.shape or last.ndim != other.ndim:
            continue
        for name, function in GATES.items():
            try:
                y = other * function(last)
            except ValueError:  # their shapes do not fit
                return
            yield name, y


def factors(step: Step) -> Choices:
    """Yield the last result times a factor: a known one, or the one that fits best."""
    if step.group != "" or step.x[0].shape != step.y.shape or not step.y.ndim:
        return
    x, width = step.x[0].astype(np.float64), step.x[0].shape[-1]
    known = {"1": 1.0, "sqrt(width)": math.sqrt(width), "1/sqrt(width)": width**-0.5}
    square = float((x * x).sum())
    best = float((x * step.y).sum()) / square if square else 0.0
    if not any(math.isclose(best, factor, rel_tol=1e-4) for factor in known.values()):
        known[f"{best:.4g}"] = best
    for name, factor in known.items():
        yield f"times {name}", x * factor


def sums(step: Step) -> Choices:
    """Yield the last result plus an earlier one, with the factors of both that fit best."""
    if step.group != "" or not step.y.ndim:
        return
    last, *others = (x.astype(np.float64) for x in step.x)
    for other in others:
        try:
            columns = [np.broadcast_to(x, step.y.shape).reshape(-1) for x in (last, other)]
        except ValueError:
            continue
        fitted, *_ = np.linalg.lstsq(np.stack(columns, 1), step.y.reshape(-1), rcond=None)
        words = " and ".join(f"{round(float(factor), 4):g}" for factor in fitted)
        y = (columns[0] * fitted[0] + columns[1] * fitted[1]).reshape(step.y.shape)
        yield f"times {words}", y


def positions(step: Step) -> Choices:
    """Yield rows of a table that follow one another, from each first one."""
    tables = [a for role in ("embedding", "kernel") for a in step.tensors.get(role, ())]
    if step.group != "embedding" or len(tables) != 1 or step.y.ndim < 2:
        return
    (table,), count = tables, step.y.shape[-2]
    if table.ndim != 2 or table.shape[1] != step.y.shape[-1]:
        return
    for first in FIRST_POSITIONS:
        if first + count <= len(table):
            rows = table[first : first + count].astype(np.float64)
            yield f"positions from {first}", np.broadcast_to(rows, step.y.shape)
