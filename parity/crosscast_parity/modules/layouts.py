"""Compare what modules of two frameworks return: channels may be first or last."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def candidates(a: np.ndarray, b: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the second array in all ways in which it may be the first one."""
    if a.shape == b.shape:
        yield b
    count = b.ndim
    if count > 2:
        for order in ((0, count - 1, *range(1, count - 1)), (0, *range(2, count), 1)):
            turned = b.transpose(order)
            if turned.shape == a.shape:
                yield turned
    if count > a.ndim > 1 and a.shape[:-1] == b.shape[: a.ndim - 1] and a.size == b.size:
        yield b.reshape(a.shape)  # heads apart
    if a.ndim == 2 and count == 3 and a.shape == (b.shape[0], b.shape[2]):
        yield b[:, -1]  # the last state of a recurrent layer


def fits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays may be the same."""
    return next(candidates(a, b), None) is not None or next(candidates(b, a), None) is not None


def other_sizes(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are images, or series, of other sizes: no layout makes them the same."""
    return a.ndim == b.ndim > 2 and len(a) == len(b) and not fits(a, b)


def unpadded(array: np.ndarray) -> np.ndarray:
    """Return images without the zeros around them."""
    if array.ndim != 4:
        return array
    axes = range(1, 4)
    full = [np.flatnonzero(array.any(tuple(n for n in range(4) if n != axis))) for axis in axes]
    if not all(map(len, full)):
        return array
    return array[(slice(None), *(slice(filled[0], filled[-1] + 1) for filled in full))]


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference relative to the largest value; infinity if they do not fit."""
    distances = [_difference(a, other) for other in candidates(a, b)]
    distances += [_difference(b, other) for other in candidates(b, a)] if a.ndim != b.ndim else []
    return min(distances, default=float("inf"))


def norm_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the size of the difference relative to the larger one; infinity if they do not fit.

    For gradients: the few that are other because a ReLU is 0 or 1 beside 0 do not count much.
    """
    pairs = [(a, other) for other in candidates(a, b)]
    pairs += [(b, other) for other in candidates(b, a)] if a.ndim != b.ndim else []
    distances = []
    for one, other in pairs:
        size = max(float(np.linalg.norm(one)), float(np.linalg.norm(other)))
        distances.append(
            float(np.linalg.norm(one.astype(np.float64) - other)) / size if size else 0.0
        )
    return min(distances, default=float("inf"))


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        same = np.array_equal(a, b, equal_nan=True)
        return 0.0 if same else float("inf")
    size = max(float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    return float(np.abs(a.astype(np.float64) - b).max(initial=0)) / size if size else 0.0
