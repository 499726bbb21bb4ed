"""Inputs and outputs of the reference interpreter: batches, state, trace rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan.loss_scale import ScaleState

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]
"""Arrays by parameter name."""

Roles = Mapping[str, frozenset[str]]
"""Parameter name to roles, such as `{"bias"}` or `{"bias", "layer_norm"}`; missing means none."""

Arithmetic = Literal["float32", "float64"]


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """The result of one forward and backward pass, before any division or scaling.

    For the loss unit `sample` loss and gradients are the *sum* over the rows, for `microbatch`
    the mean; for `token` the sum over the labels that are not -100, of which there are `tokens` (as
    many as rows if omitted). `gradients` has one array for every parameter.
    """

    loss: float
    gradients: Tensors
    rows: int
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Forward:
    """A micro-batch whose loss and gradients depend on the current parameters.

    `run` gets the current parameters (read-only arrays) when the plan reaches the forward pass.
    """

    rows: int
    run: Callable[[Tensors], MicroBatch]
    tokens: int | None = None


Work = MicroBatch | Forward
WindowWork = Sequence[Work] | Sequence[Sequence[Work]]
"""The micro-batches of one window, or one such sequence for every data-parallel process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The complete state between two windows. Arrays are read-only."""

    arithmetic: Arithmetic
    parameters: Tensors
    moments: Mapping[str, Tensors]
    """By name of the moment, then by parameter; not every parameter has every moment."""
    scale: ScaleState
    window: int = 0
    updates: int = 0
    position: int = 0
    """Ticks of the learning-rate schedule so far."""
    gradients: tuple[Tensors, ...] = ()
    """Gradients that were not cleared by `Zero`, for every process."""
    ema: Tensors = field(default_factory=dict)
    """Average of the parameters; empty without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRow:
    """Results of one window. Counts and the loss are those of all processes together."""

    window: int
    n_micro: int
    rows: int
    tokens: int
    loss: float
    """Sum of the normalised losses, mean over the processes."""
    lr: float
    """The rate of this window; nan if the plan has no step."""
    grad_norm: float
    """Global norm computed by `Clip`; nan or inf after an overflow."""
    scale: float
    """The scale this window started with; 1 without scaling."""
    skipped: bool
    updates: int
    good: int
    bad: int
    parameters: Tensors
    """Value after the window, like all of the following."""
    moments: Mapping[str, Tensors]
    ema: Tensors


@dataclass(frozen=True, slots=True)
class Trace:
    """The rows of a run and its final state."""

    rows: tuple[DataRow, ...]
    state: State = field(repr=False)


def frozen(array: npt.ArrayLike, arithmetic: Arithmetic) -> Array:
    """Return a read-only copy in the dtype of the interpreter's arithmetic."""
    copy: Array = np.array(array, dtype=arithmetic)
    copy.setflags(write=False)
    return copy


def unfit(message: str) -> DiagnosticError:
    """Return the error for batches that do not belong to the plan or its parameters."""
    return DiagnosticError(Diagnostic(code="CC806", message=message))


def by_process(window: WindowWork) -> tuple[tuple[Work, ...], ...]:
    """Return the micro-batches of a window for every process.

    Raises:
        DiagnosticError: if there is no micro-batch, or one without a row.
    """
    flat = all(isinstance(item, MicroBatch | Forward) for item in window)
    ranks: Any = (window,) if flat else window
    try:
        split = tuple(tuple(rank) for rank in ranks)
    except TypeError:
        raise unfit("a window mixes micro-batches with processes") from None
    work = [item for rank in split for item in rank]
    if not work:
        raise unfit("a window has no micro-batch")
    if any(not isinstance(item, MicroBatch | Forward) or item.rows < 1 for item in work):
        raise unfit("a window contains an item that is not a micro-batch of at least one row")
    return split


def check_gradients(batch: MicroBatch, parameters: Tensors) -> None:
    """Raise `DiagnosticError` unless there is one gradient of the right shape per parameter."""
    if set(batch.gradients) != set(parameters):
        names = ", ".join(sorted(set(batch.gradients) ^ set(parameters)))
        raise unfit(f"gradients and parameters differ in: {names}")
    for name, gradient in batch.gradients.items():
        if np.shape(gradient) != np.shape(parameters[name]):
            raise unfit(f"the gradient of {name} does not have the shape of the parameter")
