"""Images of 32 x 32 pixels in ten classes, made by NumPy.

A class is the direction of the stripes in an image. Width, phase and color of the stripes are
drawn, and there is noise over them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SEED, CLASSES, SIZE, NOISE = 18, 10, 32, 0.3
TRAIN_ROWS, EVAL_ROWS = 4096, 512


class Images:
    """Rows that are made when they are asked for; a row depends on its number alone."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def __len__(self) -> int:
        return self.count

    def rows(self, indices: Sequence[int]) -> dict[str, np.ndarray]:
        """Return `image`, [rows, height, width, 3], and `label`, [rows]."""
        made = [image(self.first + int(index)) for index in indices]
        pixels, labels = zip(*made, strict=True)
        return {"image": np.stack(pixels), "label": np.array(labels, np.int64)}


def image(number: int) -> tuple[np.ndarray, int]:
    """Make an image and its label."""
    rng = np.random.default_rng([SEED, number])
    label = int(rng.integers(CLASSES))
    angle, stripes = np.pi * label / CLASSES, rng.uniform(5, 7)
    phase, color = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 1.5, 3)
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    wave = np.sin(2 * np.pi * stripes * (x * np.cos(angle) + y * np.sin(angle)) + phase)
    pixels = wave[..., None] * color + NOISE * rng.normal(size=(SIZE, SIZE, 3))
    return pixels.astype(np.float32), label


def train_rows() -> Images:
    """Return the rows to train on."""
    return Images(0, TRAIN_ROWS)


def eval_rows() -> Images:
    """Return the rows to evaluate on."""
    return Images(TRAIN_ROWS, EVAL_ROWS)
