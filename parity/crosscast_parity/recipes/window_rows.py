"""How many micro-batches and rows every window has, from the recipe alone."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.recipe.document import Recipe


def brief_rows(recipe: Recipe) -> int:
    """Return the rows of an epoch of which the fourth window is not the first of a later epoch.

    What is resumed there goes on wrongly if it begins with the first rows again, and if it begins
    with the first epoch again.
    """
    window, tail = recipe.batch.global_batch_size, recipe.accumulation.tail
    more = {"drop": window, "carry": window + window // 2}
    return window + more.get(tail, -(-window // 2))


def short_epoch(window: int, micro: int, whole: int) -> int:
    """Return the rows of an epoch with a short last window, whose last micro-batch is short too.

    Args:
        window: rows of a full window.
        micro: rows of a full micro-batch.
        whole: how many full windows are before the short one.
    """
    short = window // 2 + (1 if micro > 1 else 0)
    return whole * window + short % window


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
