"""Shapes of a window: number of processes, micro-batches per process, rows per micro-batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crosscast.recipe.document import Recipe
from crosscast.recipe.launch import Launch
from crosscast_parity.recipes.derived import changed

Places = npt.NDArray[np.int64]
"""Places of rows in the stream of epochs: row r of epoch e is e * rows of an epoch + r."""
WindowPlaces = tuple[tuple[Places, ...], ...]
"""The rows of a window, by process and micro-batch."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the rows of a window are dealt: `processes` x `steps` micro-batches of `micro` rows."""

    processes: int
    steps: int
    micro: int

    @property
    def rows(self) -> int:
        """Rows of a full window."""
        return self.processes * self.steps * self.micro

    @property
    def name(self) -> str:
        """A short name, also of a folder."""
        return f"{self.processes}x{self.steps}x{self.micro}"

    def __str__(self) -> str:
        processes = "1 process" if self.processes == 1 else f"{self.processes} processes"
        return f"{processes} x {self.steps} x {self.micro} rows"

    def applied(self, recipe: Recipe) -> Recipe:
        """Return a recipe with this shape."""
        return changed(recipe, self.changes())

    def changes(self) -> dict[str, Any]:
        """Return the fields of a recipe that make this shape on one machine, by path."""
        many = self.processes > 1
        return {
            "launch": Launch().model_dump(),
            "distributed.strategy": "data_parallel" if many else "none",
            "distributed.nodes": 1,
            "distributed.processes_per_node": self.processes,
            "batch.micro_batch_size": self.micro,
            "batch.global_batch_size": self.rows,
            "accumulation.steps": self.steps,
        }


def shapes_of(processes: int, steps: int, micro: int) -> tuple[Shape, ...]:
    """Return the shapes of a window; the first is the one that the others are compared with.

    One large batch; as many micro-batches in one process; processes without accumulation; both.
    """
    shapes = [
        Shape(1, 1, processes * steps * micro),
        Shape(1, processes * steps, micro),
        Shape(processes, 1, steps * micro),
    ]
    if steps > 1:
        shapes.append(Shape(processes, steps, micro))
    elif micro % 2 == 0:
        shapes.append(Shape(processes, 2, micro // 2))
    return tuple(dict.fromkeys(shapes))


def windows_of(recipe: Recipe, train_rows: int) -> Iterator[WindowPlaces]:
    """Yield the windows that a recipe makes of the rows, for ever; none if they are too few."""
    shape = Shape(recipe.processes, recipe.accumulation.steps, recipe.batch.micro_batch_size)
    whole, rest = divmod(train_rows, shape.rows)
    tail = recipe.accumulation.tail
    if tail in ("flush", "flush_renormalized") and rest >= shape.processes:
        whole += 1  # a short window counts where every process gets a row
    number = 0
    while whole or tail == "carry":
        if tail == "carry":
            places = np.arange(number * shape.rows, (number + 1) * shape.rows)
        else:
            epoch, index = divmod(number, whole)
            ends = (index * shape.rows, min((index + 1) * shape.rows, train_rows))
            places = epoch * train_rows + np.arange(*ends)
        yield tuple(
            _cut(places[rank :: shape.processes], shape.micro) for rank in range(shape.processes)
        )
        number += 1


def _cut(places: Places, micro: int) -> tuple[Places, ...]:
    return tuple(np.split(places, range(micro, len(places), micro)))
