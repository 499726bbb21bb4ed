"""What makes versions of Paddle comparable: weights drawn alike, and a small epsilon if asked for.

Versions draw other random numbers. Here every initializer that draws gets numbers of NumPy instead,
by the shape of the weight and its place among those of the same shape; only constants are what the
program says. Of the initializers themselves a comparison then shows nothing.

Paddle 1 adds the epsilon of Adam before the bias of the moments is corrected, later versions
afterwards. With SMALL_EPSILON set it is so small that this makes no difference.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import paddle

from crosscast_parity.inside.updates import SEED

DRAWING = ("Normal", "Uniform", "Xavier", "MSRA", "Kaiming", "Orthogonal", "Dirac")
"""Parts of the names of classes that draw, or that differ between versions."""
SMALL_EPSILON = "CROSSCAST_SMALL_EPSILON"
_EPSILON = 1e-15
ADAMS = ("Adam", "AdamW", "AdamOptimizer")
_drawn: Counter[tuple[int, ...]] = Counter()


def install() -> None:
    """Have all initializers draw alike, and epsilons be small if that is asked for."""
    if os.environ.get(SMALL_EPSILON):
        for kind in _adams():
            setattr(kind, "__init__", _with_small_epsilon(vars(kind)["__init__"]))  # noqa: B010
    for kind in _kinds():
        for method in ("forward", "__call__"):
            if method in vars(kind):
                setattr(kind, method, _drawing(vars(kind)[method]))
                break


def _modules() -> Iterator[Any]:
    """Yield the modules with initializers of this version."""
    fluid = getattr(paddle, "fluid", None)
    if fluid is not None:
        yield fluid.initializer
    root = getattr(getattr(paddle, "nn", None), "initializer", None)
    if root is not None:
        yield root
        yield from (part for part in vars(root).values() if type(part) is type(root))


def _kinds() -> Iterator[type]:
    kinds: set[type] = set()
    for module in _modules():
        for kind in vars(module).values():
            if isinstance(kind, type) and any(part in kind.__name__ for part in DRAWING):
                kinds.add(kind)
    yield from sorted(kinds, key=lambda kind: kind.__qualname__)


def _adams() -> list[type]:
    kinds: dict[type, None] = {}
    fluid = getattr(paddle, "fluid", None)
    for place in (getattr(fluid, "optimizer", None), getattr(paddle, "optimizer", None)):
        for kind in vars(place).values() if place is not None else ():
            if isinstance(kind, type) and kind.__name__ in ADAMS and "__init__" in vars(kind):
                kinds[kind] = None
    return list(kinds)


def _with_small_epsilon(original: Any) -> Any:
    @functools.wraps(original)
    def made(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        original(optimizer, *args, **kwargs)
        if isinstance(optimizer._epsilon, float) and optimizer._epsilon != _EPSILON:
            optimizer.epsilon_as_said = optimizer._epsilon
            optimizer._epsilon = _EPSILON

    return made


def draw(shape: tuple[int, ...]) -> Any:
    """Return the next values of a shape."""
    _drawn[shape] += 1
    seed = (SEED + 7919 * _drawn[shape] + sum(31 * n + 1 for n in shape)) % 2**32
    fan_in = shape[0] if len(shape) < 3 else int(np.prod(shape[1:]))
    values = np.random.RandomState(seed).normal(0.0, 1.0, shape) / max(fan_in, 1) ** 0.5
    return values.astype(np.float32)


def _assigned(values: Any) -> Any:
    """Return the initializer that sets values."""
    fluid = getattr(paddle, "fluid", None)
    initializer = getattr(getattr(fluid, "initializer", None), "NumpyArrayInitializer", None)
    return initializer(values) if initializer is not None else paddle.nn.initializer.Assign(values)


def _drawing(original: Any) -> Any:
    @functools.wraps(original)
    def initialize(initializer: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
        if "float32" not in str(weight.dtype).lower() and "fp32" not in str(weight.dtype).lower():
            return original(initializer, weight, *args, **kwargs)
        shape = tuple(int(size) for size in weight.shape)
        return _assigned(draw(shape))(weight, *args, **kwargs)

    return initialize
