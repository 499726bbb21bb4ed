"""The model's first weights, as every input of this benchmark makes them."""

import numpy as np

FEATURES, HIDDEN, CLASSES = 16, 32, 4


def weights():
    """Return the two kernels, laid out (in, out)."""
    rng = np.random.RandomState(0)
    first = rng.normal(0, 0.3, (FEATURES, HIDDEN)).astype("float32")
    return first, rng.normal(0, 0.3, (HIDDEN, CLASSES)).astype("float32")
