"""Measures what the lint rules about JAX say: `python traps.py`, JSON out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from flax.training import dynamic_scale, train_state

jax.config.update("jax_num_cpu_devices", 2)


def updates(tx: optax.GradientTransformation, gradients: list[float], *, keeps: bool = True) -> Any:
    """Return what is added to a weight of 1 for gradients that come one after the other."""
    weight, found = jnp.ones(()), []
    state = tx.init(weight)
    for gradient in gradients:
        update, new = tx.update(jnp.asarray(gradient), state, weight)
        state = new if keeps else state
        found.append(round(float(update), 6))
    return found


def error_of(act: Callable[[], Any]) -> str:
    """Return the name of the exception that something raises; empty if none."""
    try:
        act()
    except Exception as error:
        return type(error).__name__
    return ""


def without_weights(tx: optax.GradientTransformation) -> str:
    """Return what an update without the weights raises."""
    weight = jnp.ones(())
    return error_of(lambda: tx.update(weight, tx.init(weight)))


def scaled(gradient: float) -> list[float]:
    """Return gradient and scale after a step of Flax' loss scale."""
    scale = dynamic_scale.DynamicScale()
    scale, _, _, found = scale.value_and_grad(lambda x: x * gradient)(1.0)
    return [float(found), float(scale.scale)]


def masked() -> list[float]:
    """Return what is added to a weight and a bias whose mask is true for the bias."""
    weights = {"kernel": jnp.ones(()), "bias": jnp.ones(())}
    tx = optax.add_decayed_weights(0.5, mask={"kernel": False, "bias": True})
    zeros = jax.tree.map(jnp.zeros_like, weights)
    found, _ = tx.update(zeros, tx.init(weights), weights)
    return [float(found[name]) for name in ("kernel", "bias")]


def rates() -> list[float]:
    """Return the rate at the end of a schedule of 10 steps with a warm-up of 4, and before."""
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1.0, 4, 10)
    return [round(float(schedule(step)), 6) for step in (4, 6, 10)]


def of_nnx() -> list[str]:
    """Return what the calls of Flax NNX before 0.11 raise."""
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    gradients = nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(model)
    return [
        error_of(lambda: nnx.Optimizer(model, optax.adam(1e-3))),
        error_of(lambda: optimizer.update(gradients)),
        error_of(lambda: optimizer.update(model, gradients)),
    ]


def dropped() -> list[float]:
    """Return weights of 1 whose new values were dropped, then the new values."""
    tx, one = optax.sgd(1.0), jnp.ones(())
    weights = {"kernel": one}
    state = train_state.TrainState.create(apply_fn=lambda: None, params=weights, tx=tx)
    new = (
        optax.apply_updates(weights, {"kernel": -one}),
        state.apply_gradients(grads=weights).params,
    )
    return [float(found["kernel"]) for found in (weights, state.params, *new)]


def of_devices(*, joins: bool) -> list[float]:
    """Return the weight of each of two devices after one step with rows of its own."""

    def step(weight: jax.Array, row: jax.Array) -> jax.Array:
        gradient = jax.grad(lambda w: w * row)(weight)
        return weight - (jax.lax.pmean(gradient, "batch") if joins else gradient)

    found = jax.pmap(step, axis_name="batch")(jnp.ones(2), jnp.asarray([1.0, 3.0]))
    return [float(weight) for weight in found]


CLIP = optax.clip_by_global_norm(1.0)
print(
    json.dumps(
        {
            "clip behind": updates(optax.chain(optax.adam(1e-3), CLIP), [1.0, 100.0]),
            "clip before": updates(optax.chain(CLIP, optax.adam(1e-3)), [1.0, 100.0]),
            "no clip": updates(optax.adam(1e-3), [1.0, 100.0]),
            "decay behind": updates(
                optax.chain(optax.adam(1e-3), optax.add_decayed_weights(0.1)), [0.0]
            ),
            "positive": updates(optax.chain(optax.scale_by_adam(), optax.scale(1e-3)), [1.0]),
            "outside": updates(optax.chain(CLIP, optax.MultiSteps(optax.sgd(1.0), 2)), [3.0, -1.0]),
            "inside": updates(optax.MultiSteps(optax.chain(CLIP, optax.sgd(1.0)), 2), [3.0, -1.0]),
            "without weights": {
                name: without_weights(tx)
                for name, tx in {
                    "adamw": optax.adamw(1e-3),
                    "nadamw": optax.nadamw(1e-3),
                    "adamaxw": optax.adamaxw(1e-3),
                    "lamb": optax.lamb(1e-3),
                    "lars": optax.lars(1e-3),
                    "lion": optax.lion(1e-3),
                    "adafactor": optax.adafactor(1e-3),
                    "add_decayed_weights": optax.add_decayed_weights(0.1),
                    "scale_by_trust_ratio": optax.scale_by_trust_ratio(),
                    "adam": optax.adam(1e-3),
                    "sgd": optax.sgd(1e-3),
                }.items()
            },
            "kept": updates(optax.adam(1e-3), [1.0, -0.5]),
            "lost": updates(optax.adam(1e-3), [1.0, -0.5], keeps=False),
            "overflow": scaled(float("inf")),
            "masked": masked(),
            "rates": rates(),
            "nnx": of_nnx(),
            "dropped": dropped(),
            "apart": of_devices(joins=False),
            "joined": of_devices(joins=True),
        }
    )
)
