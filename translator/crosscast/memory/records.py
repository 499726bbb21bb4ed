"""What an estimate of memory consists of. Bytes throughout; one process, one device."""

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
    """What `crosscast.memory.simple.simple_formula` says."""
    forward_bytes: int = 0
    """What is allocated where the forward pass ends."""
    fixed_bytes: int = 0
    """What is allocated between windows: it does not depend on the batch."""

    @property
    def total(self) -> int:
        """Bytes a device should have for the run: peak and margin."""
        return self.peak_bytes + self.margin_bytes


@dataclass(frozen=True, slots=True)
class TracedModel:
    """A model of the user's as a trace of its forward and backward pass saw it.

    The bytes that depend on the batch are linear in its rows: `fixed + rows * per_row`.
    """

    parameters: int
    """Number of weights that are trained, shared ones once."""
    parameter_bytes: int
    frozen_bytes: int
    """Bytes of weights without a gradient, and of buffers."""
    largest_parameter: int
    """Number of weights of the largest tensor."""
    saved_fixed: int
    """Bytes that autograd keeps, the part that does not depend on the rows."""
    saved_per_row: int
    peak_fixed: int
    """Bytes above parameters and gradients at the highest point of forward and backward."""
    peak_per_row: int
    peak_phase: str
    """`forward` or `backward`."""
    logits_per_row: int
    batch_per_row: int
    sequence_length: int
    """Tokens per row of the trace; 0 if its inputs have no such axis."""
    gradients_at_peak: int = 0
    """Bytes of gradients that backward has made where its highest point lies."""
