"""Worker of the fuzz tests for JAX: the toy's, with patterns of overflows."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

# isort: split
from crosscast_jax.inside.toy import counters, main
from fuzz.walk import window_patterns


class OneWeight(nnx.Module):  # type: ignore[misc]  # mypy does not look into Flax
    def __init__(self) -> None:
        self.kernel = nnx.Param(jnp.ones(()))


def loss(model: OneWeight, batch: dict[str, jax.Array]) -> jax.Array:
    weight: jax.Array = model.kernel.get_value()
    return weight * batch["x"]


def patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number."""
    state = step.start(OneWeight())
    return window_patterns(step, state, loss, counters, job["length"])


if __name__ == "__main__":
    main(patterns=patterns)
