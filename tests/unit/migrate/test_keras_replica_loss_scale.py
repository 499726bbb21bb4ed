"""CM204: loss scaling with several replicas."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, refused, untouched

HEAD = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
tf.keras.mixed_precision.set_global_policy({policy})
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, dtype="float32")])
"""
HALF = HEAD.replace("{policy}", '"mixed_float16"')
WRAPPED = "tf.keras.mixed_precision.LossScaleOptimizer("
COMPILED = '    model.compile({optimizer}, loss="mse")\nmodel.fit(x, y)\n'


def compiled(optimizer: str, head: str = HALF) -> str:
    return head + COMPILED.replace("{optimizer}", optimizer)


@pytest.mark.parametrize(
    "optimizer", ['"adam"', "tf.keras.optimizers.SGD(0.1)", "optimizer=made()"]
)
def test_a_compiled_optimizer(optimizer: str) -> None:
    found = after(compiled(optimizer), "CM204")
    name = optimizer.partition("=")[2] if optimizer.startswith("optimizer=") else optimizer
    assert f"replica_loss_scaling({name})" in found
    assert "class ReplicaLossScaleOptimizer(tf.keras.mixed_precision.LossScaleOptimizer):" in found


@pytest.mark.parametrize(
    "policy",
    ["name", '"mixed_float16" if half else "float32"', "tf.keras.mixed_precision.Policy(p)"],
)
def test_a_policy_that_is_known_at_run_time(policy: str) -> None:
    text = compiled('"adam"', HEAD.replace("{policy}", policy))
    assert 'replica_loss_scaling("adam")' in after(text, "CM204")


def test_a_wrapper() -> None:
    text = compiled(f"{WRAPPED}tf.keras.optimizers.SGD(0.1))")
    found = after(text, "CM204")
    assert "model.compile(ReplicaLossScaleOptimizer(tf.keras.optimizers.SGD(0.1))," in found
    assert "replica_loss_scaling" not in found


def test_a_loop_with_a_strategy() -> None:
    text = HALF + (
        f"    opt = {WRAPPED}tf.keras.optimizers.SGD(0.1))\n"
        "def step(x, y):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = f(model(x), y)\n"
        "        scaled = opt.get_scaled_loss(loss)\n"
        "    grads = tape.gradient(scaled, model.trainable_variables)\n"
        "    grads = opt.get_unscaled_gradients(grads)\n"
        "    opt.apply_gradients(zip(grads, model.trainable_variables))\n"
        "strategy.run(step, args=(x, y))\n"
    )
    found = after(text)
    assert "opt = ReplicaLossScaleOptimizer(tf.keras.optimizers.SGD(0.1))" in found
    assert "opt.scale_loss(loss)" in found
    assert "get_unscaled" not in found


def test_gradients_that_the_program_has_reduced_already() -> None:
    text = HALF + (
        f"    opt = {WRAPPED}tf.keras.optimizers.SGD(0.1))\n"
        "def step(x, y):\n"
        "    with tf.GradientTape() as tape:\n"
        "        scaled = opt.get_scaled_loss(f(model(x), y))\n"
        "    grads = tape.gradient(scaled, model.trainable_variables)\n"
        "    grads = opt.get_unscaled_gradients(grads)\n"
        "    grads = tf.distribute.get_replica_context().all_reduce('mean', grads)\n"
        "    opt.apply_gradients(zip(grads, model.trainable_variables), "
        "experimental_aggregate_gradients=False)\n"
    )
    found = after(text)
    wanted = (
        "zip(multiply_by_loss_scale(opt, divide_by_replicas(grads)), model.trainable_variables)"
    )
    assert f"opt.apply_gradients({wanted})" in found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (compiled("tf.keras.optimizers.SGD(0.1, clipnorm=1.0)"), "clips by clipnorm"),
        (
            compiled(f"{WRAPPED}tf.keras.optimizers.SGD(0.1, clipvalue=1.0))"),
            "clips by clipvalue",
        ),
        (compiled('"adam"').replace(".Mirrored", ".MultiWorkerMirrored"), "fit of Keras 3 fails"),
        (
            compiled('"adam"') + "tf.distribute.experimental.ParameterServerStrategy()\n",
            "is not known",
        ),
        (compiled('"adam"') + "def replica_loss_scaling(x, y): ...\n", ""),
    ],
)
def test_refusals(text: str, why: str) -> None:
    if why:
        assert why in refused(text, "CM204")


@pytest.mark.parametrize(
    "text",
    [
        compiled('"adam"', HEAD.replace("{policy}", '"mixed_bfloat16"')),
        compiled('"adam", auto_scale_loss=False'),
        compiled('"adam"')
        .replace(".MirroredStrategy()", '.OneDeviceStrategy("/cpu:0")')
        .replace("strategy", "device"),
        HALF + "    opt = tf.keras.optimizers.SGD(0.1)\n",
        compiled('"adam"').replace('    model.compile("adam"', '    other.build("adam"'),
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(text, "CM204")
