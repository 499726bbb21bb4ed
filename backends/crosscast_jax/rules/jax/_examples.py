"""Small complete programs for the examples of rules about JAX."""

from __future__ import annotations


def loop(optimizer: str, update: str = "") -> str:
    """Return a training loop of optax with an optimizer, and another way to update."""
    update = update or (
        "    updates, state = tx.update(gradients, state, weights)\n"
        "    return optax.apply_updates(weights, updates), state\n"
    )
    return f"""\
import jax
import optax

tx = {optimizer}
state = tx.init(weights)


@jax.jit
def train_step(weights, state, batch):
    gradients = jax.grad(loss_fn)(weights, batch)
{update}

for batch in loader:
    weights, state = train_step(weights, state, batch)
"""


SCALED = """\
import functools

import jax
import jax.numpy as jnp
from flax.training import dynamic_scale

scale = dynamic_scale.DynamicScale()


@jax.jit
def train_step(state, scale, batch):
    scale, finite, loss, gradients = scale.value_and_grad(loss_fn)(state.params, batch)
    new = state.apply_gradients(grads=gradients)
    pick = functools.partial(jnp.where, finite)
    return jax.tree.map(pick, new, state), scale


for batch in loader:
    state, scale = train_step(state, scale, batch)
"""
"""Flax' dynamic loss scale."""
