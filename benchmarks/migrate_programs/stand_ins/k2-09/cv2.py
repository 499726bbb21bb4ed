"""Made-up pictures."""

import numpy as np

IMREAD_COLOR, IMREAD_GRAYSCALE, COLOR_BGR2RGB, INTER_CUBIC, INTER_AREA, INTER_NEAREST = range(6)


def imread(path, mode):
    rng = np.random.default_rng(len(path))
    if mode == IMREAD_COLOR:
        return rng.integers(0, 256, (32, 32, 3)).astype(np.uint8)
    return rng.integers(0, 2, (32, 32)).astype(np.uint8)


def cvtColor(image, how):
    return image[..., ::-1]
