"""Series of values and what comes after them, made by NumPy.

A series is a wave under noise. Its frequency, phase and amplitude are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SEED, STEPS, HORIZON, NOISE = 18, 24, 4, 0.05
TRAIN_ROWS, EVAL_ROWS = 4096, 512


class Series:
    """Rows that are made when they are asked for; a row depends on its number alone."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def __len__(self) -> int:
        return self.count

    def rows(self, indices: Sequence[int]) -> dict[str, np.ndarray]:
        """Return `past`, [rows, STEPS, 1], and `future`, [rows, HORIZON]."""
        made = np.stack([series(self.first + int(index)) for index in indices])
        return {"past": made[:, :STEPS, None], "future": made[:, STEPS:]}


def series(number: int) -> np.ndarray:
    """Make a series of STEPS + HORIZON values."""
    rng = np.random.default_rng([SEED, number])
    frequency, phase = rng.uniform(0.3, 0.9), rng.uniform(0, 2 * np.pi)
    amplitude = rng.uniform(0.5, 1.5)
    steps = np.arange(STEPS + HORIZON)
    wave = amplitude * np.sin(frequency * steps + phase)
    return (wave + NOISE * rng.normal(size=len(steps))).astype(np.float32)


def train_rows() -> Series:
    """Return the rows to train on."""
    return Series(0, TRAIN_ROWS)


def eval_rows() -> Series:
    """Return the rows to evaluate on."""
    return Series(TRAIN_ROWS, EVAL_ROWS)
