"""Level L0b: how many micro-batches and rows every window has, from the recipe alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosscast.recipe.document import Recipe
from crosscast_parity.checks.check import Check, Deviation, judge
from crosscast_parity.recordings.trace import Row


def expected_counts(recipe: Recipe, train_rows: int) -> Iterator[tuple[int, int]]:
    """Yield micro-batches and rows of each window, for ever; of one process.

    Nothing is yielded where the rows do not fill one window that the recipe would train on.
    """
    whole, micro = recipe.batch.global_batch_size, recipe.batch.micro_batch_size
    tail = recipe.accumulation.tail
    rest = train_rows % whole if tail in ("flush", "flush_renormalized") else 0
    per_epoch = train_rows // whole + (rest > 0)
    if not per_epoch and tail != "carry":
        return
    while True:
        for window in range(per_epoch or 1):
            rows = rest if rest and window == per_epoch - 1 else whole
            yield -(-rows // micro), rows


def check_counts(recipe: Recipe, train_rows: int, rows: Sequence[Row]) -> tuple[Check, Check]:
    """Check micro-batches and rows of one run against what the recipe makes of the data."""
    expected = list(zip(rows, expected_counts(recipe, train_rows), strict=False))
    nothing = "the trace is empty" if not rows else "the recipe makes no window of these rows"
    return (
        judge(
            "L0b",
            "micro-batches of a window",
            (Deviation(r.window, r.n_micro != n, r.n_micro, n) for r, (n, _) in expected),
            0,
            nothing=nothing,
        ),
        judge(
            "L0b",
            "rows of a window",
            (Deviation(r.window, r.rows != n, r.rows, n) for r, (_, n) in expected),
            0,
            nothing=nothing,
        ),
    )
