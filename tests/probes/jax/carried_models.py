"""What Flax NNX has for models that are carried: `carried_models.py ROWS HELPER`, JSON out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from probes.model_rows import wrong


def spread(array: Any) -> list[float]:
    """Return the smallest and the largest number, and the standard deviation."""
    return [float(array.min()), float(array.max()), float(array.std())]


def at(function: Callable[[Any], Any], number: float) -> float:
    """Return the derivative at a number."""
    return float(jax.grad(function)(number))


def error_of(act: Callable[[], Any]) -> str:
    """Return the name of the exception that something raises; empty if none."""
    try:
        act()
    except Exception as error:
        return type(error).__name__
    return ""


def drawn(helper: str) -> dict[str, list[float]]:
    rngs, key = nnx.Rngs(0), jax.random.key(0)
    names: dict[str, Any] = {"jax": jax, "jnp": jnp}
    exec(helper, names)
    return {
        "linear": spread(nnx.Linear(64, 500, rngs=rngs).kernel[...]),
        "conv": spread(nnx.Conv(8, 500, (3, 3), rngs=rngs).kernel[...]),
        "grouped": spread(nnx.Conv(8, 500, (3, 3), feature_group_count=4, rngs=rngs).kernel[...]),
        "embedding": spread(nnx.Embed(500, 64, rngs=rngs).embedding[...]),
        "uniform": spread(nnx.initializers.uniform(0.5)(key, (200, 200))),
        "helper": spread(names["uniform"](0.5)(key, (200, 200))),
        "truncated": spread(nnx.initializers.truncated_normal(0.1)(key, (200, 200))),
        "normal": spread(nnx.initializers.normal(0.1)(key, (200, 200))),
    }


def statistics() -> list[float]:
    """Return the running mean and variance of a batch of 0, 1, 2, after one pass in training."""
    norm = nnx.BatchNorm(1, momentum=0.0, rngs=nnx.Rngs(0))
    norm(jnp.asarray([[0.0], [1.0], [2.0]]))
    return [float(norm.mean[0]), float(norm.var[0])]


def main() -> None:
    rows, helper = json.loads(sys.argv[1]), sys.argv[2]
    image = jnp.ones((1, 4, 1))
    facts = {
        "wrong": [each for row in rows for each in wrong(*row)],
        "drawn": drawn(helper),
        "statistics": statistics(),
        "derivatives": {
            "leaky_relu": at(nnx.leaky_relu, 0.0),
            "chosen": at(lambda x: jnp.where(x > 0, x, x * 0.01), 0.0),
            **{name: at(getattr(nnx, name), 0.0) for name in ("relu", "relu6", "elu")},
            "relu6 at 6": at(nnx.relu6, 6.0),
            "abs": at(jnp.abs, 0.0),
            "by its sign": at(lambda x: x * jnp.sign(x), 0.0),
        },
        "strides": list(nnx.max_pool(image, (2,)).shape),
        "tie": jax.grad(lambda x: nnx.max_pool(x, (4,)).sum())(image).ravel().tolist(),
        "axes": error_of(lambda: nnx.LayerNorm((3, 4), rngs=nnx.Rngs(0))),
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
