"""Records of a memory estimate, in bytes, for one process and device."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Device = Literal["cpu", "cuda", "hopper"]
"""`cuda` is one GPU; `hopper` one of compute capability 9.0, for which cuBLAS takes more."""

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

`parameters`: weights that the model computes with. `masters`: float32 weights of half ones.
`half_copies`: weights cast by autocast. `gradients`: results of backward. `accumulators`: separate
sums of gradients. `optimizer`: moments. `ema`: averaged weights. `buckets`: the copy of the
gradients that data parallelism exchanges. `batch`: inputs, masks and labels. `activations`: tensors
saved for backward. `logits`: outputs of the model and the loss. `temporaries`: memory that only the
operation at the peak needs. `workspace`: internal memory of libraries.
"""

PHASES = ("forward", "recompute", "backward", "collect", "clip", "step", "average", "unknown")
"""Phases that can have the peak: the forward pass, the recomputation of a layer, the backward pass,
the sum of half gradients in float32, the norm, the optimizer's update, the average of weights.
Short runs do not tell it: `unknown`."""

Evidence = Literal["estimated", "traced", "measured", "planned"]
"""Where the numbers are from: a model of the shipped BERT, a trace of the user's model, short runs,
or what a compiler plans on a CPU."""


@dataclass(frozen=True, slots=True)
class Component:
    """One part of the memory at the peak."""

    name: str
    """One of `COMPONENTS`."""
    bytes: int
    dtype: str
    """Dtype of the elements, several joined by `+`."""
    note: str

    def __post_init__(self) -> None:
        assert self.name in COMPONENTS, self.name


@dataclass(frozen=True, slots=True)
class Estimate:
    """Memory of a training run at its peak, after the first window."""

    target: str
    device: str
    components: tuple[Component, ...]
    """Components at the peak, in the order of `COMPONENTS`; their sum is `peak_bytes`."""
    peak_bytes: int
    """Maximum of the bytes allocated by the framework."""
    peak_phase: str
    """One of `PHASES`."""
    margin_bytes: int
    """Additional bytes to keep free: rounding, fragmentation, parts that are not modelled."""
    simple_formula_bytes: int | None
    """Result of `crosscast.memory.simple_formula.simple_formula`; None where the outputs of the
    layers are not known."""
    forward_bytes: int = 0
    """Bytes allocated at the end of the forward pass; 0 if unknown."""
    fixed_bytes: int = 0
    """Bytes allocated between windows, independent of the batch."""
    evidence: Evidence = "estimated"
    bound: bool = False
    """Whether less may be needed: what was measured is not what the recipe computes."""

    @property
    def total(self) -> int:
        """Bytes required on a device: peak and margin."""
        return self.peak_bytes + self.margin_bytes


@dataclass(frozen=True, slots=True)
class TracedWeight:
    """A parameter in the dtype the model computes with."""

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
    """Bytes of the parameters' gradients."""
    fixed: int
    per_row: int

    def at(self, rows: int) -> int:
        """Return the bytes without gradients for a micro-batch of `rows` rows."""
        return max(0, self.fixed + rows * self.per_row)


@dataclass(frozen=True, slots=True)
class TracedModel:
    """A trace of the user's model for two micro-batches, without computation."""

    weights: tuple[TracedWeight, ...]
    """Trained parameters; shared ones appear once."""
    frozen_bytes: int
    """Bytes of weights without a gradient, and of buffers."""
    first: tuple[Moment, ...]
    """Moments of the first micro-batch of a window; the maximum counts."""
    later: tuple[Moment, ...]
    """Moments of a later micro-batch, when gradients already exist."""
    forward_end: Moment
    outputs_per_row: int
    """Bytes of the outputs of all modules for one row."""
    sequence_length: int
    """Tokens per row of the trace; 0 if its inputs have no such axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredModel:
    """Short runs on a CPU, or a compiler's plans of them, in windows of two micro-batches."""

    peaks: tuple[tuple[int, int], ...]
    """Rows of a micro-batch and bytes at the peak, of each run; in ascending order."""
    parameters: int
    """Bytes of weights and buffers."""
    trained: int
    """Number of elements of the weights that are trained; they have gradients in float32."""
    optimizer: int
    """Bytes of the moments."""
    ema: int
    """Bytes of averaged weights."""
    held_row: int
    """Bytes of a row that stays on the device until its window ends; 0 if none does."""
    widened: bool
    """Whether what the recipe computes in half precision was computed in float32."""
    planned: bool = False
    """Whether nothing ran: a compiler planned the memory of the step."""

    def peak_at(self, rows: int) -> int:
        """Return the bytes at the peak for micro-batches of so many rows.

        The peak is the highest of lines in the number of rows, one for each moment. It therefore
        lies below the chord of two runs. Beyond the last run the last chord goes on.
        """
        if rows <= self.peaks[0][0]:
            return self.peaks[0][1]
        chords = list(pairwise(self.peaks))
        (few, low), (many, high) = next((c for c in chords if rows <= c[1][0]), chords[-1])
        return low - (rows - few) * (low - high) // (many - few)
