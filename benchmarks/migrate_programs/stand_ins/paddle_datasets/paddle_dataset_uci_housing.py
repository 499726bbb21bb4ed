"""Made-up houses: 440 rows of 13 features; the price is their weighted sum."""

import numpy as np


def _rows(count, seed):
    def reader():
        random = np.random.RandomState(seed)
        for _ in range(count):
            row = random.rand(13).astype("float32")
            yield row, np.array([(row * np.arange(13)).sum()], "float32")

    return reader


def train():
    return _rows(440, 0)


def test():
    return _rows(40, 1)
