"""Records of a memory estimate, in bytes, for one process and device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Device = Literal["cpu", "cuda"]

COMPONENTS = (
    "parameters",
    "masters",
    "half_copies",
    "gradients",
    "accumulators",
    "optimizer",
    "ema",
    "buckets",
    "batch",
    "activations",
    "logits",
    "temporaries",
    "workspace",
)
"""Names of components, in the order in which they are shown.

`parameters`: the weights that the model computes with. `masters`: float32 weights behind half ones.
`half_copies`: weights that autocast has turned to a half type. `gradients`: what backward leaves.
`accumulators`: sums of gradients that are kept beside them. `optimizer`: moments. `ema`: averaged
weights. `buckets`: the copy of the gradients that data parallelism exchanges. `batch`: inputs,
masks and labels. `activations`: what forward keeps for backward. `logits`: outputs of the model and
the loss. `temporaries`: what only the operation at the peak needs. `workspace`: what libraries
allocate for themselves.
"""

PHASES = ("forward", "recompute", "backward", "collect", "clip", "step", "average")
"""Where the peak can lie: the forward pass, a layer that is computed again, the backward pass,
the sum of half gradients in float32, the norm, the optimizer's update, the average of weights."""


@dataclass(frozen=True, slots=True)
class Component:
    """One part of what is allocated at the peak."""

    name: str
    """One of `COMPONENTS`."""
    bytes: int
    dtype: str
    """Type of the numbers, several joined by `+`."""
    note: str

    def __post_init__(self) -> None:
        assert self.name in COMPONENTS, self.name


@dataclass(frozen=True, slots=True)
class Estimate:
    """Memory of a training run at its peak, after the first window."""

    target: str
    device: str
    components: tuple[Component, ...]
    """What is allocated at the peak, in the order of `COMPONENTS`; they sum to `peak_bytes`."""
    peak_bytes: int
    """Highest sum of what the framework's allocator has given out."""
    peak_phase: str
    """One of `PHASES`."""
    margin_bytes: int
    """What to keep free besides: rounding, fragments, what is not modelled."""
    simple_formula_bytes: int
    """What `crosscast.memory.simple_formula.simple_formula` says."""
    forward_bytes: int = 0
    """What is allocated where the forward pass ends."""
    fixed_bytes: int = 0
    """What is allocated between windows: it does not depend on the batch."""

    @property
    def total(self) -> int:
        """Bytes a device should have for the run: peak and margin."""
        return self.peak_bytes + self.margin_bytes


@dataclass(frozen=True, slots=True)
class TracedWeight:
    """A parameter as the model computes with it."""

    count: int
    dtype: str
    rows: int = 0
    """Length of the first axis of a matrix; 0 for a vector."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Bytes above the parameters at one moment of forward or backward, linear in the rows."""

    phase: str
    """`forward` or `backward`."""
    gradients: int
    """Bytes that parameters hold as gradients."""
    fixed: int
    per_row: int

    def at(self, rows: int) -> int:
        """Return the bytes besides gradients for that many rows of a micro-batch."""
        return max(0, self.fixed + rows * self.per_row)


@dataclass(frozen=True, slots=True)
class TracedModel:
    """A model of the user's as a trace of two micro-batches saw it, without computing anything."""

    weights: tuple[TracedWeight, ...]
    """Parameters that are trained, shared ones once."""
    frozen_bytes: int
    """Of weights without a gradient, and of buffers."""
    first: tuple[Moment, ...]
    """Moments of a micro-batch that is the first of its window, of which the highest one counts."""
    later: tuple[Moment, ...]
    """The same where gradients are there already."""
    forward_end: Moment
    outputs_per_row: int
    """Bytes that the modules of the model put out for a row."""
    sequence_length: int
    """Tokens per row of the trace; 0 if its inputs have no such axis."""
