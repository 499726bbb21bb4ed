"""Layers that sum many numbers, under emulation: `run_emulated_layers.py FRAMEWORK`; prints JSON.

Each adds 4096 ones, or takes their mean. In half, a sum of ones ends at 256 or 2048.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from crosscast_parity.inside.emulate import install

COUNT = 64
"""Rows and columns, whose product is the number of ones."""


def tensorflow_layers(dtype: str) -> dict[str, float]:
    """The results of Keras' layers under a mixed policy."""
    import keras
    from keras import layers

    size, ones = (COUNT, COUNT), "ones"
    policy: dict[str, Any] = {"dtype": f"mixed_{dtype}"}
    image, row = np.ones((1, COUNT, COUNT, 1), "f4"), np.ones((1, COUNT * COUNT, 1), "f4")
    deep = np.ones((1, 1, 1, COUNT * COUNT), "f4")
    made: dict[str, tuple[Any, Any]] = {
        "conv1d": (layers.Conv1D(1, COUNT * COUNT, kernel_initializer=ones, **policy), row),
        "conv2d": (layers.Conv2D(1, size, kernel_initializer=ones, **policy), image),
        "transposed": (layers.Conv2DTranspose(1, 1, kernel_initializer=ones, **policy), deep),
        "depthwise": (layers.DepthwiseConv2D(size, depthwise_initializer=ones, **policy), image),
        "separable": (
            layers.SeparableConv2D(
                1, size, depthwise_initializer=ones, pointwise_initializer=ones, **policy
            ),
            image,
        ),
        "mean": (layers.AveragePooling2D(size, **policy), image),
        "global mean": (layers.GlobalAveragePooling2D(**policy), image),
    }
    return {
        name: float(np.asarray(keras.ops.cast(layer(x), "float32")).ravel()[0])
        for name, (layer, x) in made.items()
    }


def torch_layers(dtype: str) -> dict[str, float]:
    """The results of PyTorch's functions under autocast."""
    import torch
    from torch.nn import functional as F

    image, row = torch.ones(1, 1, COUNT, COUNT), torch.ones(1, 1, COUNT * COUNT)
    deep = torch.ones(1, COUNT * COUNT, 1, 1)
    half = getattr(torch, dtype)
    made: dict[str, Callable[[], Any]] = {
        "conv1d": lambda: F.conv1d(row, row),
        "conv2d": lambda: F.conv2d(image, image),
        "transposed": lambda: F.conv_transpose2d(deep, torch.ones(COUNT * COUNT, 1, 1, 1)),
        "mean": lambda: F.avg_pool2d(image.to(half), (COUNT, COUNT)),
        "global mean": lambda: image.to(half).mean((2, 3)),
    }
    with torch.autocast("cpu", half):
        return {name: float(call().float().reshape(-1)[0]) for name, call in made.items()}


def paddle_layers(dtype: str) -> dict[str, float]:
    """The results of Paddle's functions under auto_cast."""
    import paddle
    from paddle.nn import functional as F

    image, row = paddle.ones([1, 1, COUNT, COUNT]), paddle.ones([1, 1, COUNT * COUNT])
    deep, kernel = paddle.ones([1, COUNT * COUNT, 1, 1]), paddle.ones([COUNT * COUNT, 1, 1, 1])
    made: dict[str, Callable[[], Any]] = {
        "conv1d": lambda: F.conv1d(row, row),
        "conv2d": lambda: F.conv2d(image, image),
        "transposed": lambda: F.conv2d_transpose(deep, kernel),
        "mean": lambda: F.avg_pool2d(image.astype(dtype), COUNT),
        "global mean": lambda: image.astype(dtype).mean([2, 3]),
    }
    with paddle.amp.auto_cast(True, dtype=dtype, level="O1"):
        return {
            name: float(call().astype("float32").reshape([-1])[0]) for name, call in made.items()
        }


def jax_layers(dtype: str) -> dict[str, float]:
    """The results of layers of Flax that are given half as their type."""
    import jax
    import jax.numpy as jnp
    from flax import nnx

    half: Any = getattr(jnp, dtype)
    image, row = jnp.ones((1, COUNT, COUNT, 1)), jnp.ones((1, COUNT * COUNT, 1))
    wide = jnp.ones((1, 1, 1, COUNT * COUNT))
    given: dict[str, Any] = {
        "dtype": half,
        "kernel_init": nnx.initializers.ones,
        "padding": "VALID",
        "rngs": nnx.Rngs(0),
    }
    plain = {name: given[name] for name in ("dtype", "kernel_init", "rngs")}
    made: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "dense": (nnx.Linear(COUNT * COUNT, 1, **plain), wide),
        "conv1d": (nnx.Conv(1, 1, (COUNT * COUNT,), **given), row),
        "conv2d": (nnx.Conv(1, 1, (COUNT, COUNT), **given), image),
        "transposed": (nnx.ConvTranspose(COUNT * COUNT, 1, (1, 1), **given), wide),
        "global mean": (lambda x: x.astype(half).mean((1, 2)), image),
    }
    return {
        name: float(jax.jit(layer)(x).astype(jnp.float32).ravel()[0])
        for name, (layer, x) in made.items()
    }


LAYERS = {
    "tensorflow": tensorflow_layers,
    "torch": torch_layers,
    "paddle": paddle_layers,
    "jax": jax_layers,
}


def main() -> None:
    """Print the results of all layers by type."""
    framework = sys.argv[1]
    install(f"crosscast_{framework}.inside")
    print(json.dumps({dtype: LAYERS[framework](dtype) for dtype in ("float16", "bfloat16")}))


if __name__ == "__main__":
    main()
