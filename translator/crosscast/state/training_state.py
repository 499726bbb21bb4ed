"""Contents of a checkpoint of any framework: arrays by name, counters as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np

Arrays = Mapping[str, "np.ndarray"]
TransferVerdict = Literal["carried", "renamed", "turned", "derived", "reset", "left out"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The loss scale with its counters of clean, overflowed and hopeless windows."""

    scale: float
    good: int
    bad: int
    stuck: int


@dataclass(frozen=True, slots=True)
class TrainingState:
    """A run between two windows.

    `recipe` is the fingerprint of its recipe. `moments` are by slot, then by name of the weight.
    `windows` counts attempts, `updates` those that were not skipped. `rows` is the number of
    training rows, which determines the position in the data; None if unknown.
    """

    recipe: str
    weights: Arrays
    moments: Mapping[str, Arrays]
    averages: Arrays
    windows: int
    updates: int
    scale: Scale | None
    rows: int | None = None

    def tensors(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield every array by its name in a checkpoint."""
        for name, array in self.weights.items():
            yield f"model/{name}", array
        for slot, arrays in self.moments.items():
            for name, array in arrays.items():
                yield f"optimizer/{slot}/{name}", array
        for name, array in self.averages.items():
            yield f"ema/{name}", array

    def counters(self) -> dict[str, float]:
        """Return the counters in the format of a checkpoint."""
        counters: dict[str, float] = {"windows": self.windows, "updates": self.updates}
        if self.rows is not None:
            counters["rows"] = self.rows
        counters["moments"] = sum(map(len, self.moments.values()))
        if self.scale is not None:
            scale = self.scale
            counters |= {"stuck": scale.stuck, "scale": scale.scale}
            counters |= {"good": scale.good, "bad": scale.bad}
        return counters


@dataclass(frozen=True, slots=True)
class Part:
    """The outcome for one part of a source: a row of the report."""

    part: str
    count: int
    verdict: TransferVerdict
    how: str

    def to_json(self) -> dict[str, str | int]:
        """Return the row as plain data."""
        return {"part": self.part, "count": self.count, "verdict": self.verdict, "how": self.how}


@dataclass(slots=True)
class Account:
    """The rows of a report, collected while a state is read and converted."""

    rows: list[Part] = field(default_factory=list)

    def add(self, part: str, count: int, verdict: TransferVerdict, how: str) -> None:
        """Add a row."""
        self.rows.append(Part(part, count, verdict, how))
