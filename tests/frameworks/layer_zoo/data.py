"""Images of 16 x 16 pixels with twelve tokens beside each, random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Rows:
    """Rows that are made when they are asked for."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def __len__(self) -> int:
        return self.count

    def rows(self, indices: Sequence[int]) -> dict[str, np.ndarray]:
        """Return `image`, [rows, 16, 16, 3], `tokens`, [rows, 12], and `label`, [rows]."""
        made = [np.random.default_rng([18, self.first + int(index)]) for index in indices]
        return {
            "image": np.stack([rng.normal(size=(16, 16, 3)).astype(np.float32) for rng in made]),
            "tokens": np.stack([rng.integers(0, 20, 12) for rng in made]),
            "label": np.array([rng.integers(0, 10) for rng in made], np.int64),
        }


def train_rows() -> Rows:
    """Rows to train on."""
    return Rows(0, 256)


def eval_rows() -> Rows:
    """Rows to evaluate."""
    return Rows(256, 64)
