"""Worker of the fuzz tests for JAX: the toy's, with patterns of overflows."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

# isort: split
from crosscast_jax.inside.toy import counters, main
from fuzz.walk import walk


class OneWeight(nnx.Module):  # type: ignore[misc]  # mypy does not look into Flax
    def __init__(self) -> None:
        self.kernel = nnx.Param(jnp.ones(()))


def loss(model: OneWeight, batch: dict[str, jax.Array]) -> jax.Array:
    weight: jax.Array = model.kernel.get_value()
    return weight * batch["x"]


def patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number."""
    state = step.start(OneWeight())
    seen: list[Any] = []

    def visit(overflow: bool) -> None:
        batch = {"labels": np.zeros(1), "x": np.float32(np.inf if overflow else 0.0)}
        row = step.train_window(state, [batch], loss)
        seen.append((row["scale"], row["skipped"], *counters(state)))

    def save() -> Any:
        machine = getattr(state, "loss_scale", None)
        return machine and replace(machine)

    def restore(saved: Any) -> None:
        if saved:
            state.loss_scale = replace(saved)

    walk(job["length"], visit, save, restore)
    return {"seen": seen}


if __name__ == "__main__":
    main(patterns=patterns)
