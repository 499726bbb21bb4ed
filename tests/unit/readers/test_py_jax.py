"""JAX programs: DynamicScale, Optax's optimizers, schedules and wrappers."""

from __future__ import annotations

from typing import Any

import pytest

from program_facts import values_of

HEAD = "import jax\nimport jax.numpy as jnp\nimport optax\n"

OPTIMIZERS = [
    ("optax.sgd(0.1, momentum=0.9)", "sgd", {"optimizer.momentum": 0.9}),
    ("optax.adamw(1e-3, b1=0.8, weight_decay=0.1)", "adamw", {"optimizer.betas.0": 0.8}),
    ("optax.lamb(1e-3)", "lamb", {"optimizer.learning_rate": 1e-3}),
    ("optax.chain(optax.clip(1.0), optax.adam(1e-3))", "adam", {"clipping.kind": "value"}),
    (
        "optax.chain(optax.clip_by_global_norm(2.0), optax.adamw(1e-3))",
        "adamw",
        {"clipping.kind": "global_norm", "clipping.value": 2.0},
    ),
]


@pytest.mark.parametrize(("call", "family", "rest"), OPTIMIZERS)
def test_optimizers(call: str, family: str, rest: dict[str, Any]) -> None:
    found = values_of(f"{HEAD}tx = {call}")
    assert found["framework"] == "jax"
    assert found["optimizer.name"] == family
    assert found["zero_grad.where"] == "functional"
    assert rest.items() <= found.items()


def test_the_old_optimizers_of_flax() -> None:
    text = "import jax\nfrom flax import optim\nopt = optim.Momentum(beta=0.9).create(params)"
    found = values_of(text)
    assert found["optimizer.name"] == "sgd"
    assert found["optimizer.momentum"] == 0.9


SCHEDULES = [
    ("optax.cosine_decay_schedule(1e-3, 100)", "cosine", "no"),
    ("optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)", "cosine", "yes"),
    (
        "optax.join_schedules([optax.linear_schedule(0.0, 1e-3, 10), "
        "optax.linear_schedule(1e-3, 0.0, 90)], [10])",
        "linear",
        "yes",
    ),
    ("optax.exponential_decay(1e-3, 100, 0.5)", "exponential", "no"),
    ("optax.warmup_constant_schedule(0.0, peak_value=1e-3, warmup_steps=10)", "constant", "yes"),
]


@pytest.mark.parametrize(("rate", "decay", "warm"), SCHEDULES)
def test_schedules(rate: str, decay: str, warm: str) -> None:
    found = values_of(f"{HEAD}rate = {rate}\ntx = optax.adam(rate)")
    assert found["schedule.name"] == decay
    assert found["schedule.has_warmup"] == warm
    assert found["schedule.stepped_per"] == "step"
    assert found["optimizer.learning_rate"] == 1e-3


@pytest.mark.parametrize(
    ("call", "steps", "divided"),
    [
        ("optax.MultiSteps(optax.sgd(0.1), every_k_schedule=3)", 3, "library"),
        ("optax.MultiSteps(optax.sgd(0.1), 5, use_grad_mean=False)", 5, "no"),
        ("optax.chain(optax.apply_every(k=4), optax.sgd(0.1))", 4, "no"),
    ],
)
def test_windows(call: str, steps: int, divided: str) -> None:
    found = values_of(f"{HEAD}tx = {call}")
    assert found["accumulation.steps"] == steps
    assert found["accumulation.loss_divided"] == divided
    assert found["api"] == ("jax_multisteps",)


SCALED = """
    import functools
    import jax
    import jax.numpy as jnp
    from flax.training import dynamic_scale as lib

    def kind(config):
        platform = jax.local_devices()[0].platform
        if config.half_precision:
            if platform == "tpu":
                return jnp.bfloat16
            return jnp.float16
        return jnp.float32

    def step(state):
        scale, finite, aux, grads = state.dynamic_scale.value_and_grad(loss_fn)(state.params)
        pick = functools.partial(jnp.where, finite)
        return jax.tree_util.tree_map(pick, new.params, state.params)

    scale = lib.DynamicScale(growth_interval=500)
    run = jax.pmap(step, axis_name="batch")
"""


def test_dynamic_scale() -> None:
    found = values_of(SCALED)
    assert found["api"] == ("jax_dynamic_scale",)
    assert found["loss_scaling.mode"] == "dynamic"
    assert found["loss_scaling.growth_interval"] == 500
    assert found["scaler_update.status"] == "custom"
    assert set(found["precision.dtypes"]) == {"float16", "bfloat16"}
    assert found["precision.enabled"] == "config"
    assert found["parallel.kind"] == ("pmap",)
    assert found["schedule.on_skip"] == "guarded"


def test_pmap_as_a_decorator() -> None:
    text = """
        import jax
        from functools import partial

        @partial(jax.pmap, axis_name="batch")
        def step(x):
            return x
    """
    assert values_of(text)["parallel.kind"] == ("pmap",)


@pytest.mark.parametrize(
    "text",
    [
        "mask = jnp.zeros(3).astype(jnp.float16)",
        "# optax.MultiSteps(tx, 4)",
        "optax.clip_by_global_norm(1.0)",
        "scale = jnp.float32(2.0)",
    ],
)
def test_decoys(text: str) -> None:
    found = values_of(f"{HEAD}tx = optax.sgd(0.1)\n{text}")
    wanted = ("precision", "loss_scaling", "accumulation", "clip", "api")
    assert not [key for key in found if key.startswith(wanted)]


def test_data_of_tensorflow_does_not_make_it_tensorflow() -> None:
    text = (
        HEAD + "import tensorflow as tf\nds = tf.data.Dataset.range(3)\ng = jax.grad(f)\n"
        "tx = optax.sgd(0.1)"
    )
    assert values_of(text)["framework"] == "jax"
