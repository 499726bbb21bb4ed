"""Reads defaults of the installed releases: `read_defaults.py QUESTIONS`, JSON in and out."""

from __future__ import annotations

import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax.training import dynamic_scale

# isort: split
from probes.signatures import read


def scale_machine() -> Any:
    """Return after how many overflows the scale falls."""
    machine, overflows = dynamic_scale.DynamicScale(scale=1024.0), 0
    while float(machine.scale) == 1024.0:
        machine, _, _, _ = machine.value_and_grad(lambda x: x * jnp.inf)(1.0)
        overflows += 1
    return {"loss_scaling.hysteresis": overflows}


def clip() -> Any:
    """Return what is added to the norm."""
    jax.config.update("jax_enable_x64", True)
    gradient = jnp.ones((), jnp.float64)
    limit = optax.clip_by_global_norm(0.5)
    clipped, _ = limit.update(gradient, limit.init(gradient))
    jax.config.update("jax_enable_x64", False)
    return {"clipping.eps": round(0.5 / float(clipped) - 1.0, 12)}


def decay(optimizer: Any) -> Any:
    """Return by how much a weight of 1 shrinks at a rate of 1 without a gradient."""
    weight = jnp.ones(())
    update, _ = optimizer.update(jnp.zeros(()), optimizer.init(weight), weight)
    return {"optimizer.weight_decay": -float(update) + 0.0}


FIXED = {
    "flax.training.dynamic_scale.DynamicScale": scale_machine,
    "optax.clip_by_global_norm": clip,
    "optax.adam": lambda: decay(optax.adam(1.0)),
    "optax.sgd": lambda: decay(optax.sgd(1.0)),
}

if __name__ == "__main__":
    print(json.dumps(read(json.loads(sys.argv[1]), {}, FIXED)))
