"""Philox4x32-10: random numbers that are a function of a key and a counter.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: "Parallel random numbers: as easy as 1, 2, 3"
(SC 2011). A number does not depend on which ones were drawn before, nor on the framework.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROUNDS = 10
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85
"""Added to both halves of the key after every round."""
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
Array = np.ndarray


def philox(counter: Array, key: tuple[int, int]) -> Array:
    """Return four random words for every counter.

    Args:
        counter: [4, n] of 32-bit words in uint64.
        key: two words of 32 bits.
    """
    a, b, c, d = counter
    left, right = key
    for _ in range(ROUNDS):
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, c = (second >> HALF) ^ b ^ np.uint64(left), (first >> HALF) ^ d ^ np.uint64(right)
        b, d = second & LOW, first & LOW
        left, right = (left + WEYL[0]) & 0xFFFFFFFF, (right + WEYL[1]) & 0xFFFFFFFF
    return np.stack([a, b, c, d])


def uniform(seed: int, place: tuple[int, int, int], count: int) -> Array:
    """Return so many float32 numbers in [0, 1), multiples of 2^-24.

    Args:
        seed: at most 64 bits of it count.
        place: three words of the counter; the fourth counts blocks of four numbers.
        count: how many.
    """
    blocks = np.arange(-(-count // 4), dtype=np.uint64)
    words: list[Any] = [blocks, *(np.full_like(blocks, word & 0xFFFFFFFF) for word in place)]
    drawn = philox(np.stack(words), (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF))
    numbers = drawn.T.reshape(-1)[:count] >> np.uint64(8)
    return numbers.astype(np.float32) * np.float32(2.0**-24)
