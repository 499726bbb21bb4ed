"""JAX by hand: one jitted, donated call a window, a scan over its micro-batches, stock optax."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from contestants.lane import Lane
from contestants.task import Task


def make_optimizer(task: Task, decays: Any) -> optax.GradientTransformation:
    """Clipping and AdamW without a rate, which every window multiplies by its own."""
    script = task.script
    return optax.chain(
        optax.clip_by_global_norm(script.MAX_NORM),
        optax.scale_by_adam(*script.BETAS, script.EPS),
        optax.add_decayed_weights(script.WEIGHT_DECAY, decays),
    )


def train(task: Task, lane: Lane) -> None:
    """Train for ever; in half precision the model says its types, and there is no loss scale."""
    script, state = task.script, task.state()
    optimizer = make_optimizer(task, script.decays(state.model))
    graph, rest = state.graph, state.arrays.rest
    rows = {name: jnp.asarray(array) for name, array in task.rows.items()}

    @partial(jax.jit, donate_argnums=(0, 1))
    def window(weights: Any, moments: Any, order: jax.Array, rate: jax.Array) -> Any:
        def loss_of(weights: Any, batch: dict[str, jax.Array]) -> jax.Array:
            inputs = {name: array for name, array in batch.items() if name != "labels"}
            logits = nnx.merge(graph, weights, rest, copy=True)(**inputs).astype(jnp.float32)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"])
            return losses.mean() / task.accumulation

        def add(sums: Any, numbers: jax.Array) -> Any:
            batch = {name: array[numbers] for name, array in rows.items()}
            loss, gradients = jax.value_and_grad(loss_of)(weights, batch)
            return (sums[0] + loss, jax.tree.map(jnp.add, sums[1], gradients)), None

        zeros = jnp.zeros(()), jax.tree.map(jnp.zeros_like, weights)
        (loss, gradients), _ = jax.lax.scan(add, zeros, order)
        updates, moments = optimizer.update(gradients, moments, weights)
        updates = jax.tree.map(lambda update: -rate * update, updates)
        return optax.apply_updates(weights, updates), moments, loss

    moments = optimizer.init(state.arrays.weights)
    losses: deque[jax.Array] = deque(maxlen=100)
    task.describe_state(lane, state, losses)
    for number, order in enumerate(task.order()):
        lane.next_window()
        state.arrays.weights, moments, loss = window(
            state.arrays.weights, moments, order, script.learning_rate(number)
        )
        losses.append(loss)
