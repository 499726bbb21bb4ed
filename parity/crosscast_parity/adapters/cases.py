"""The neutral cases: toys with known gradients, on which trainers are seen to differ.

The toy has one weight, which starts at `START`; the loss of a row is weight * row, so that the row
itself is the gradient. A case is run by a trainer's probe, which records what `Seen` holds after
every micro-batch. Standard library only: the probes run where crosscast may be all that is there.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

START = 64.0
"""A power of two: adding to it and taking away is exact in float32, and in float16 for small."""

SCALE = 1024.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One toy training.

    `rows`: the rows of an epoch, in their order. `micro`: rows of a micro-batch. `steps`:
    micro-batches of a window. `total`: None for the rate 1 throughout, else the rate falls linearly
    from 1 to 0 over so many updates. `scale`: initial dynamic loss scale, None for float32.
    `interval`: clean steps before the scale grows. `counted`: tell the trainer how many rows a
    window has, where it has a way to be told. `fused`: PyTorch's fused optimizer.
    """

    name: str
    rows: tuple[float, ...]
    micro: int = 1
    steps: int = 1
    epochs: int = 1
    total: int | None = None
    clip: float | None = None
    scale: float | None = None
    interval: int = 2000
    optimizer: Literal["sgd", "adamw"] = "sgd"
    counted: bool = False
    fused: bool = False

    @property
    def micro_batches(self) -> int:
        """Micro-batches of an epoch."""
        return -(-len(self.rows) // self.micro)

    @property
    def windows(self) -> int:
        """Windows of an epoch, a short one at its end included."""
        return -(-self.micro_batches // self.steps)

    def rate(self, position: float) -> float:
        """Learning rate of an update, counted from 0."""
        return 1.0 if self.total is None else max(0.0, 1.0 - position / self.total)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; what is not finite becomes text."""
        document = asdict(self)
        document["rows"] = [row if math.isfinite(row) else str(row) for row in self.rows]
        return document


INF = math.inf

CASES: tuple[Case, ...] = (
    Case(name="tail", rows=(1.0,) * 10, steps=4, epochs=2),
    Case(name="uneven", rows=(1.0, 1.0, 1.0, 5.0), micro=3, steps=2),
    Case(name="uneven_counted", rows=(1.0, 1.0, 1.0, 5.0), micro=3, steps=2, counted=True),
    Case(name="four_small", rows=(1.0, 2.0, 3.0, 6.0), micro=1, steps=4, epochs=2, clip=1.5),
    Case(name="one_large", rows=(1.0, 2.0, 3.0, 6.0), micro=4, steps=1, epochs=2, clip=1.5),
    Case(name="clip_window", rows=(3.0, -1.0), steps=2, clip=2.0),
    Case(name="clip_scaled", rows=(3.0,), clip=2.0, scale=SCALE),
    Case(name="clip_fused", rows=(3.0,), clip=2.0, scale=SCALE, fused=True),
    Case(name="skip", rows=(1.0, INF, 1.0), scale=SCALE, optimizer="adamw"),
    Case(name="rate_skip", rows=(1.0, INF, 1.0), total=4, scale=SCALE),
    Case(name="rate_skip_fused", rows=(1.0, INF, 1.0), total=4, scale=SCALE, fused=True),
    Case(name="rate_micro", rows=(1.0,) * 8, steps=2, total=8),
    Case(name="inside", rows=(1.0,) * 5 + (INF,) + (1.0,) * 6, steps=4, scale=SCALE),
    Case(name="growth", rows=(1.0,) * 8, steps=2, scale=SCALE, interval=4),
    Case(name="unscaled_overflow", rows=(1.0, INF, 1.0)),
)


class NotAsked(Exception):
    """A case that is not the trainer's business, or that it refuses; the text says which."""


@dataclass(slots=True)
class Seen:
    """What a probe saw, one entry for every micro-batch, in order.

    `slots`: the optimizer's step counter and its two moments. `counter`: steps that the trainer
    itself says it made, at the end.
    """

    weights: list[float]
    scales: list[float | None]
    slots: list[list[float]]
    counter: int | None = None

    @classmethod
    def nothing(cls) -> Seen:
        """Return an empty record."""
        return cls([], [], [])

    def add(self, weight: float, scale: float | None, slots: list[float] | None = None) -> None:
        """Take note of the state after one micro-batch."""
        self.weights.append(weight)
        self.scales.append(scale)
        self.slots.append(slots or [])

    def to_json(self) -> dict[str, Any]:
        """Return plain data; what is not finite becomes text."""
        return {
            "weights": [w if math.isfinite(w) else str(w) for w in self.weights],
            "scales": self.scales,
            "slots": self.slots,
            "counter": self.counter,
        }
