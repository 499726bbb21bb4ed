"""One micro-batch of an emitted JAX model; see `run_recomputation`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from frameworks.run_model_jax import Named, equations, inputs

METHOD = "__call__"


def layer_class(model: Named) -> type:
    """Return the class of its encoder layers: a model is made by a module of its own."""
    return type(model.model.bert.encoder["layer"][0])


def train(
    model: Named, parameters: dict[str, Any], batch: Any, dtype: str, calls: list[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Layers are called while they are traced; the backward pass has what it computes again."""
    model.model.train()
    nnx.reseed(model.model, default=jax.random.key(5))
    graph, weights, rest = nnx.split(model.model, nnx.Param, ...)
    tensors, labels = inputs(batch), jnp.asarray(batch["labels"])

    def loss_of(weights: Any) -> jax.Array:
        logits = nnx.merge(graph, weights, rest, copy=True)(*tensors).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    loss, backward = jax.vjp(loss_of, weights)
    before, kept = len(calls), sum(leaf.nbytes for leaf in jax.tree.leaves(backward))
    again = jax.make_jaxpr(backward)(jnp.ones(()))
    repeated = sum("remat" in e.primitive.name for e in equations(again.jaxpr))
    (gradients,) = backward(jnp.ones(()))
    nnx.update(model.model, gradients)
    arrays = {name: np.array(variable.get_value()) for name, variable in parameters.items()}
    return {"loss": float(loss), "kept": kept, "calls": [before, repeated]}, arrays
