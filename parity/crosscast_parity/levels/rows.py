"""Level L0b: how many micro-batches and rows every window has, from the recipe alone."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.recipe.document import Recipe
from crosscast_parity.checks.check import Check, Deviation, judge
from crosscast_parity.recipes.window_rows import expected_counts
from crosscast_parity.recordings.trace import TraceRow


def check_counts(recipe: Recipe, train_rows: int, rows: Sequence[TraceRow]) -> tuple[Check, Check]:
    """Check micro-batches and rows of one run against the recipe."""
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
