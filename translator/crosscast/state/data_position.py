"""Position of a run in its data, computed from the number of windows in a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.recipe.document import Recipe


@dataclass(frozen=True, slots=True)
class Position:
    """The next window begins at row `row` (from 0) of the order of epoch `epoch` (from 0)."""

    epoch: int
    row: int
    rows: int
    order: str

    def __str__(self) -> str:
        return f"epoch {self.epoch}, row {self.row} of {self.rows}, in the order {self.order}"


def data_position(recipe: Recipe, rows: int, windows: int) -> Position | None:
    """Return the beginning of window number `windows` in emitted scripts; None for too few rows."""
    size = recipe.batch.global_batch_size
    order = "of the file"
    if recipe.accumulation.tail == "carry":
        epoch, row = divmod(windows * size, rows)
    else:
        per_epoch = rows // size
        if recipe.accumulation.tail != "drop":
            per_epoch += rows % size >= recipe.processes
        if not per_epoch:
            return None
        epoch, window = divmod(windows, per_epoch)
        row = window * size
    if recipe.data.shuffle:
        order = f"default_rng([{recipe.seed}, {epoch}]).permutation({rows})"
    return Position(epoch, row, rows, order)
