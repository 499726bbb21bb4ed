"""Sources where one reader took for its own what belongs to another, or a device for a window."""

from __future__ import annotations

import pytest

from program_facts import values_of

ADAM = """
    import tensorflow as tf
    opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(
        tf.keras.optimizers.Adam(1e-3), loss_scale="dynamic")

    def step(batch):
        with tf.GradientTape() as tape:
            loss = opt.get_scaled_loss(model(batch))
        grads = opt.get_unscaled_gradients(tape.gradient(loss, model.trainable_variables))
        opt.apply_gradients(zip(grads, model.trainable_variables))
"""


def test_who_makes_the_scaler_says_how_it_works() -> None:
    found = values_of(ADAM)
    assert found["loss_scaling.mode"] == "dynamic"
    assert found["precision.enabled"] == "always"


def test_methods_of_paddle_are_not_those_of_keras() -> None:
    found = values_of("""
        import paddle.fluid as fluid
        opt = fluid.contrib.mixed_precision.decorate(
            fluid.optimizer.SGD(0.1), init_loss_scaling=128.0, use_dynamic_loss_scaling=True)
        opt.minimize(loss)
        scaled = opt.get_scaled_loss()
    """)
    assert found["api"] == ("paddle_static_decorate",)
    assert found["loss_scaling.mode"] == "dynamic"


@pytest.mark.parametrize("default", [False, True])
@pytest.mark.parametrize(
    "use",
    [
        'tf.config.optimizer.set_experimental_options({"auto_mixed_precision": FLAGS.half})',
        "config.graph_options.rewrite_options.auto_mixed_precision = FLAGS.half",
    ],
)
def test_a_flag_that_is_off_by_default_can_be_switched_on(use: str, default: bool) -> None:
    found = values_of(f"""
        import tensorflow as tf
        from absl import flags
        flags.DEFINE_bool("half", default={default}, help="")
        FLAGS = flags.FLAGS
        config = tf.compat.v1.ConfigProto()
        {use}
    """)
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == ("float16" if default else "float32")


def test_what_is_always_off_is_nothing() -> None:
    found = values_of("""
        import tensorflow as tf
        tf.config.optimizer.set_experimental_options({"auto_mixed_precision": False})
    """)
    assert "precision.enabled" not in found


def test_the_wrapped_optimizer_is_no_rate() -> None:
    found = values_of("""
        import tensorflow as tf

        class Wrapper(tf.keras.optimizers.Optimizer):
            def __init__(self, optimizer="SGD", name="wrapper"):
                self.inner = tf.keras.optimizers.get(optimizer)
                super().__init__(name)
    """)
    assert found["optimizer.name"] == "elsewhere"
    assert "optimizer.learning_rate" not in found


@pytest.mark.parametrize(
    ("arguments", "decay"),
    [
        ("1e-3, warmup_steps=10, total_steps=90", "elsewhere"),
        ("base=1e-3, warmup_steps=10, decay_epochs=3", "elsewhere"),
        ("d_model=64, warmup_steps=10", "noam"),
        ("base=1e-3, warmup_steps=10", "constant"),
    ],
)
def test_a_schedule_of_another_file(arguments: str, decay: str) -> None:
    found = values_of(f"""
        import tensorflow as tf
        from rates import Rate
        opt = tf.keras.optimizers.Adam(Rate({arguments}))
        model.compile(optimizer=opt, loss="mse")
    """)
    assert found["schedule.name"] == decay
    assert found["schedule.has_warmup"] == "yes"


@pytest.mark.parametrize(
    ("where", "precision"),
    [
        ("optax.adamw(1e-3, mu_dtype=jnp.bfloat16)", None),
        ("optax.sgd(1e-3, accumulator_dtype=jnp.bfloat16)", None),
        ("build(momentum_dtype=jnp.bfloat16)", None),
        ("build(dtype=jnp.bfloat16)", "always"),
    ],
)
def test_the_type_of_sums_is_not_that_of_the_model(where: str, precision: str | None) -> None:
    found = values_of(f"""
        import jax.numpy as jnp
        import optax
        thing = {where}
    """)
    assert found.get("precision.enabled") == precision


def test_a_name_of_another_file_is_no_number() -> None:
    found = values_of("""
        import paddle.fluid as fluid
        from settings import cfg
        opt = fluid.contrib.mixed_precision.decorate(
            fluid.optimizer.SGD(0.1), init_loss_scaling=cfg.SCALE, use_dynamic_loss_scaling=False)
        opt.minimize(loss)
    """)
    assert found["loss_scaling.mode"] == "static"
    assert str(found["loss_scaling.scale"]).startswith("?")


def test_the_first_strategies_of_fleet() -> None:
    found = values_of("""
        import argparse
        from paddle.fluid.incubate.fleet.collective import DistributedStrategy, fleet
        parser = argparse.ArgumentParser()
        parser.add_argument("--half", type=bool, default=False)
        parser.add_argument("--again", type=bool, default=False)
        args = parser.parse_args()
        strategy = DistributedStrategy()
        if args.half:
            strategy.use_amp = True
        if args.again:
            strategy.forward_recompute = True
    """)
    assert found["precision.enabled"] == "flag"
    assert found["precision.dtypes"] == ("float16",)
    assert found["activation_checkpointing"] == "flag"


def test_a_function_that_sums_gradients_in_parts() -> None:
    found = values_of("""
        import jax
        import optax
        from helpers import accumulate_gradient
        tx = optax.sgd(0.1)

        def update(params, state, batch, accum_steps):
            loss, grads = accumulate_gradient(
                jax.value_and_grad(loss_fn), params, batch, accum_steps)
            return tx.update(grads, state)
    """)
    assert found["accumulation.present"] == "yes"
    assert found["accumulation.steps"] == "?accum_steps"


def test_a_function_that_sums_other_things() -> None:
    found = values_of("""
        import jax
        import optax
        from helpers import accumulate_metrics, accumulate_gradient
        tx = optax.sgd(0.1)
        metrics = accumulate_metrics(jax.value_and_grad(loss_fn), 4)
        shown = accumulate_gradient(images)
    """)
    assert "accumulation.present" not in found
