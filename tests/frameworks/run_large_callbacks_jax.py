"""Tell large arrays of a compiled function: `run_large_callbacks_jax.py`, which prints JSON."""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from crosscast_jax.inside.callbacks import tell

GIVEN = {
    "large": jnp.arange(300_000, dtype=jnp.float32).reshape(300, 1000),
    "half": jnp.ones((7, 3), jnp.bfloat16) / 3,
    "scalar": jnp.float32(2.5),
    "empty": jnp.zeros((0, 4)),
}


def main() -> None:
    """Print what came, and how large the largest piece was."""
    told: list[Any] = []
    sizes: list[int] = []
    original = jax.debug.callback

    def counting(function: Any, *args: Any) -> None:
        sizes.extend(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(args))
        original(function, *args)

    jax.debug.callback = counting
    jax.jit(lambda arrays: tell(lambda *args: told.append(args), arrays, jnp.int32(7)))(GIVEN)
    jax.effects_barrier()
    ((arrays, number),) = told
    equal = {
        name: bool(np.array_equal(arrays[name], np.asarray(value, np.float32)))
        and arrays[name].dtype == np.float32
        for name, value in GIVEN.items()
    }
    print(json.dumps({"equal": equal, "number": int(number), "largest": max(sizes)}))


if __name__ == "__main__":
    main()
