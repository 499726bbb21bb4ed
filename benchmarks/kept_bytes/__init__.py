"""What one micro-batch keeps for its backward pass, counted without a GPU; see `half_memory.py`.

The table here imports no framework. Each framework has two modules, which only its own process
imports: `FRAMEWORK_models` makes the contestants, `FRAMEWORK_count` counts one of them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

FRAMEWORKS = ("torch", "tensorflow", "paddle")
HALVES = ("bfloat16", "float16")
PRECISIONS = ("float32", *HALVES)


@dataclass(frozen=True, slots=True)
class Contestant:
    """One model of a framework."""

    framework: str
    name: str
    title: str
    precisions: tuple[str, ...] = PRECISIONS
    base: str = ""
    """Contestant whose float32 its ratios are relative to; itself if empty."""
    package: str = ""
    """Distribution that is needed beside the framework."""


NOT_COUNTED = {("paddle", "float16"): "programs for a CPU refuse it"}
"""Why a precision cannot be counted in a framework."""
EMITTED = "emitted"
ALL_COMPUTE = "emitted_compute"
STORED_HALF = "emitted_2"
FROM_RECIPES = (EMITTED, ALL_COMPUTE, STORED_HALF)
"""Contestants that are scripts as crosscast emits them."""
VERSION_1 = "emitted, version 1"
VERSION_1_COMPUTE = f"{VERSION_1}, `ops` all `compute`"
VERSION_2 = "emitted, version 2"
CONTESTANTS = (
    Contestant("torch", EMITTED, VERSION_1),
    Contestant("torch", ALL_COMPUTE, VERSION_1_COMPUTE, HALVES, EMITTED),
    Contestant("torch", STORED_HALF, VERSION_2),
    Contestant("torch", "eager", "transformers, eager", package="transformers"),
    Contestant("torch", "sdpa", "transformers, sdpa", package="transformers"),
    Contestant("torch", "hand", "by hand: fused attention, half residual stream"),
    Contestant("tensorflow", EMITTED, VERSION_1),
    Contestant("tensorflow", ALL_COMPUTE, VERSION_1_COMPUTE, HALVES, EMITTED),
    Contestant("tensorflow", STORED_HALF, VERSION_2),
    Contestant("tensorflow", "hand", "by hand: layers and policies of Keras"),
    Contestant("paddle", EMITTED, VERSION_1),
    Contestant("paddle", ALL_COMPUTE, VERSION_1_COMPUTE, HALVES, EMITTED),
    Contestant("paddle", STORED_HALF, VERSION_2),
    Contestant("paddle", "hand", "by hand: fused attention, `auto_cast` O1"),
)


@dataclass(frozen=True)
class Shape:
    """Sizes of a BERT and of its micro-batch; BERT-base unless stated."""

    rows: int
    tokens: int
    layers: int = 12
    hidden: int = 768
    heads: int = 12
    words: int = 30522

    @property
    def title(self) -> str:
        """Return rows and tokens, for people."""
        return f"{self.rows} x {self.tokens}"


@dataclass(slots=True)
class Counts:
    """What was counted of one micro-batch; bytes, and numbers of operators.

    None is what cannot be counted in the framework.
    """

    activations: int
    """Kept for the backward pass, without weights, copies of weights and the rows themselves."""
    weight_copies: int
    """Copies of weights in another type that the backward pass reads, or that a window keeps."""
    dtypes: dict[str, int]
    """`activations` by type."""
    forward: int
    """Operators of the forward pass that start a kernel."""
    backward: int
    """Operators of the backward pass and of adding its gradients to those of the window."""
    casts: int
    """Operators, forward and backward, that only change the type."""
    window_casts: int = 0
    """Casts of a window in addition to those of its micro-batches, however many it has."""
    peak: int | None = None
    """Most bytes of tensors at once, with `standing`."""
    standing: int | None = None
    """Weights, their gradients and two moments, all in float32."""

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def contestants(framework: str) -> tuple[Contestant, ...]:
    """Return the contestants of a framework, the emitted model first."""
    return tuple(entry for entry in CONTESTANTS if entry.framework == framework)
