"""How much every row of a window weighs in its gradient, from the counts of the trace."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.recipe.document import Recipe
from crosscast_parity.levels.traces import GRAD_NORM
from crosscast_parity.recordings.trace import TraceRow

NORM_LIMIT = GRAD_NORM.limit


def micro_sizes(recipe: Recipe, row: TraceRow) -> list[int]:
    """Return the rows of every micro-batch of a window: all full but the last."""
    micro = recipe.batch.micro_batch_size
    return [micro] * (row.n_micro - 1) + [row.rows - micro * (row.n_micro - 1)]


def row_weights(recipe: Recipe, sizes: Sequence[int]) -> list[float]:
    """Return for every micro-batch what one of its rows weighs in the window's mean.

    One label a row: a mean over labels is one over rows.
    """
    accumulation = recipe.accumulation
    full = accumulation.tail == "flush"
    if accumulation.normalize_by == "microbatch":
        divisor = accumulation.steps if full else len(sizes)
        return [1.0 / (divisor * size) for size in sizes]
    rows = accumulation.steps * recipe.batch.micro_batch_size if full else sum(sizes)
    return [1.0 / rows for _ in sizes]


def weight_change(recipe: Recipe, other: Recipe, rows: Sequence[TraceRow]) -> float:
    """Return the largest relative change of a row's weight; 0 if nothing changes.

    Skipped windows do not count: their gradients are not compared.
    """
    worst = 0.0
    for row in rows:
        sizes = micro_sizes(recipe, row)
        if row.skipped or min(sizes) < 1:
            continue
        ours, others = row_weights(recipe, sizes), row_weights(other, sizes)
        worst = max([worst, *(abs(b - a) / a for a, b in zip(ours, others, strict=True))])
    return worst
