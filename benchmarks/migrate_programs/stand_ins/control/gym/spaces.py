"""Ranges of actions and observations."""

import numpy as np

_RANDOM = np.random.default_rng(0)


class Box:
    def __init__(self, low, high, shape=None, dtype=np.float32):
        shape = np.shape(low) if shape is None else shape
        self.low = np.broadcast_to(np.asarray(low, dtype), shape)
        self.high = np.broadcast_to(np.asarray(high, dtype), shape)
        self.shape, self.dtype = shape, np.dtype(dtype)

    def sample(self):
        return _RANDOM.uniform(self.low, self.high, self.shape).astype(self.dtype)


class Discrete:
    def __init__(self, n):
        self.n = n


class Dict:
    def __init__(self, spaces):
        self.spaces = spaces
