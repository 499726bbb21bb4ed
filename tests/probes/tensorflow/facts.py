"""Asks the installed TensorFlow and Keras what they do; prints the answers as JSON."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from frozen_models import frozen
from probes.fact import Fact, main

NEAR_ONE = (0.999, 0.9999, 0.99999)


def moved(optimizer: Any, gradients: list[float], start: float = 0.0) -> list[float]:
    """The values of one weight after each of the gradients."""
    weight = keras.Variable(start)
    values = []
    for gradient in gradients:
        optimizer.apply([tf.constant(gradient)], [weight])
        values.append(float(weight.numpy()))
    return values


def scales(initial: float, gradients: list[float]) -> list[float]:
    """The loss scales of Keras' own optimizer after each of the gradients."""
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(1.0), initial_scale=initial, dynamic_growth_steps=1
    )
    optimizer.build([keras.Variable(0.0)])
    found = []
    for gradient in gradients:
        optimizer.apply([tf.constant(gradient)])
        found.append(float(optimizer.dynamic_scale.numpy()))
    return found


def decays() -> dict[str, float]:
    """Return how much of a decay of 0.01 AdamW applies at several rates to weights from 1 to 2."""
    start, found = np.linspace(1.0, 2.0, 2**16, endpoint=False, dtype=np.float32), {}
    for rate in (1e-5, 5e-5, 1e-3):
        weight = keras.Variable(start)
        keras.optimizers.AdamW(rate, weight_decay=0.01).apply([tf.zeros(start.shape)], [weight])
        moved = start.astype(float) - weight.numpy()
        found[str(rate)] = float(moved.sum() / (start.astype(float).sum() * rate * 0.01))
    return found


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def names(layer: keras.layers.Layer) -> list[str]:
    layer.build((None, 4, 4))
    return [variable.name for variable in layer.trainable_variables]


def rate_falls_to_zero() -> list[float]:
    optimizer, weight = keras.optimizers.SGD(1.0, momentum=0.5), keras.Variable(0.0)
    values = []
    for rate in (1.0, 0.0, 0.0):
        optimizer.learning_rate = rate
        optimizer.apply([tf.constant(1.0 if rate else 0.0)], [weight])
        values.append(float(weight.numpy()))
    return values


def accumulated() -> dict[str, Any]:
    """Three micro-batches a step, one of which overflows."""
    inner = keras.optimizers.SGD(1.0, gradient_accumulation_steps=3)
    optimizer = keras.optimizers.LossScaleOptimizer(inner, initial_scale=1.0)
    values = moved(optimizer, [1.0, float("inf"), 3.0, 4.0])
    return {"weights": values, "scale": float(optimizer.dynamic_scale.numpy())}


def shares(optimizer: Any, moment: str) -> float:
    """The share of a first gradient of 1 in a moment of one weight."""
    moved(optimizer, [1.0])
    (found,) = (v for v in optimizer.variables if v.path.endswith(f"_{moment}"))
    return float(found.numpy())


def averages() -> list[float]:
    """Keras' average of a weight that falls by 1 every second micro-batch, after each of them."""
    optimizer = keras.optimizers.SGD(
        1.0, use_ema=True, ema_momentum=0.5, gradient_accumulation_steps=2
    )
    weight = keras.Variable(0.0)
    values = []
    for _ in range(6):
        optimizer.apply([tf.constant(1.0)], [weight])
        (average,) = (v for v in optimizer.variables if v.path.endswith("_average"))
        values.append(float(average.numpy()))
    return values


def half_weights() -> dict[str, Any]:
    """Types of layers under the policy float16, and a weight after many small updates."""
    dense = keras.layers.Dense(1, kernel_initializer="ones", dtype="float16")
    norm = keras.layers.LayerNormalization(dtype="float16")
    dense.build((None, 1))
    norm.build((None, 2))
    optimizer = keras.optimizers.SGD(1e-4)
    for _ in range(100):
        optimizer.apply([tf.ones((1, 1), tf.float16)], [dense.kernel])
    return {
        "dense": [dense.kernel.dtype, dense(tf.ones((1, 1))).dtype.name],
        "norm": norm.gamma.dtype,
        "weight": float(dense.kernel.numpy()[0, 0]),
    }


def row_losses() -> dict[str, float]:
    """Worst relative error of a row's cross-entropy in half, from logits that are half anyway."""
    generator = tf.random.Generator.from_seed(0)
    logits, labels = generator.normal((4000, 8), stddev=3.0), tf.range(4000) % 8
    loss, found = tf.nn.sparse_softmax_cross_entropy_with_logits, {}
    for name in ("float16", "bfloat16"):
        half = tf.cast(logits, name)
        exact = loss(labels, tf.cast(half, tf.float64))
        error = tf.abs(tf.cast(loss(labels, half), tf.float64) - exact) / exact
        found[name] = float(tf.reduce_max(error[exact > 0.05]))
    return found


def normalized(name: str) -> dict[str, Any]:
    """What LayerNormalization under a mixed policy makes of half and of float32 numbers."""
    half, generator = tf.as_dtype(name), tf.random.Generator.from_seed(0)
    mixed, exact = (
        LAYERS.LayerNormalization(epsilon=1e-12, dtype=dtype)
        for dtype in (f"mixed_{name}", "float32")
    )
    numbers = generator.normal((8, 512), 3.0, 2.0)
    halves = tf.cast(numbers, half)
    large = tf.cast(tf.clip_by_value(1e4 * numbers, -6e4, 6e4), half)  # their squares overflow

    def wrong(x: Any) -> int:
        once = tf.cast(exact(tf.cast(x, tf.float32)), half)
        return int(tf.math.count_nonzero(mixed(x) != once))

    return {
        "wrong": [wrong(halves), wrong(large), wrong(numbers)],
        "type": mixed(numbers).dtype.name,
        "weights": mixed.gamma.dtype,
        "of float32 layer": int(
            tf.math.count_nonzero(exact(halves) != tf.cast(mixed(halves), tf.float32))
        ),
    }


def attention() -> dict[str, Any]:
    """What dot_product_attention says to a wish for a fused kernel, and what it can drop."""
    x = tf.ones((1, 4, 2, 8))
    try:
        keras.ops.dot_product_attention(x, x, x, flash_attention=True)
        answer = "fused"
    except ValueError as error:
        answer = str(error)
    return {"answer": answer, "parameters": parameters(keras.ops.dot_product_attention)}


def kept(function: Any) -> list[str]:
    """Types of the results, of bfloat16 numbers, that the gradient of a function reads."""

    end = 0

    def derived(x: Any) -> Any:
        nonlocal end
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        end = len(tf.compat.v1.get_default_graph().get_operations())
        return tape.gradient(y, x)

    spec = tf.TensorSpec((2, 32, 32), tf.bfloat16)
    operations = tf.function(derived).get_concrete_function(spec).graph.get_operations()
    forward = {operation.name for operation in operations[:end]}
    read = {
        value.ref() for op in operations[end:] for value in op.inputs if value.op.name in forward
    }
    values = (reference.deref() for reference in read)
    found = [value for value in values if value.shape[-2:] == (32, 32) and value.dtype.is_floating]
    return sorted({value.dtype.name for value in found if value.op.type != "Placeholder"})


def kept_normalization() -> list[str]:
    """Types of what the gradient of a mixed LayerNormalization reads."""
    layer = LAYERS.LayerNormalization(dtype="mixed_bfloat16")
    layer.build((None, 32, 32))  # a traced function must not make variables
    return kept(layer)


def half_divisor() -> float:
    """Mean of quotients of bfloat16 numbers by 0.9, by the mean of exact ones."""
    x = tf.cast(tf.random.Generator.from_seed(0).uniform((10_000,)), tf.bfloat16)
    quotients = tf.reduce_mean(tf.cast(x / 0.9, tf.float32))
    return float(quotients * 0.9 / tf.reduce_mean(tf.cast(x, tf.float32)))


class Counted(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
    """A rate that is the step it is asked for."""

    def __call__(self, step: Any) -> Any:
        return tf.cast(step, tf.float32)


def counted_steps() -> list[float]:
    """The steps at which the schedule is evaluated for updates of four micro-batches each."""
    optimizer = keras.optimizers.SGD(Counted(), gradient_accumulation_steps=4)
    values = moved(optimizer, [1.0] * 12)
    updates = [0.0, *values[3::4]]
    return [before - after for before, after in itertools.pairwise(updates)]


def told_steps() -> int:
    """What an optimizer tells as its steps after eight gradients, four to an update."""
    optimizer = keras.optimizers.SGD(1.0, gradient_accumulation_steps=4)
    moved(optimizer, [1.0] * 8)
    return int(keras.ops.convert_to_numpy(optimizer.iterations))


def recomputed(dropout: Any) -> list[bool]:
    """Whether the backward pass of tf.recompute_grad has the masks of the forward pass."""
    found = []
    for _ in range(3):
        x = tf.ones(256)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.recompute_grad(lambda x: dropout(x))(x)
        gradient = tape.gradient(y, x).numpy()
        found.append(bool(((gradient != 0) == (y.numpy() != 0)).all()))
    return found


def seeded(x: Any) -> Any:
    return tf.nn.experimental.stateless_dropout(x, 0.5, seed=[1, 2])


INFINITY = float("inf")
HUGE = [3e30, 4e30]
SGD, ADAM, LAYERS = keras.optimizers.SGD, keras.optimizers.Adam, keras.layers
KERAS = {
    "scales grow": Fact(
        "scale from 2^126 after each of four clean steps that all let it grow",
        lambda: scales(2.0**126, [1.0] * 4),
    ),
    "scales fall": Fact(
        "scale from 2^-125 after three overflows", lambda: scales(2.0**-125, [INFINITY] * 3)
    ),
    "scales back off": Fact(
        "scale from 1024 after inf, 1, inf", lambda: scales(1024.0, [INFINITY, 1.0, INFINITY])
    ),
    "scaler arguments": Fact(
        "parameters of LossScaleOptimizer",
        lambda: parameters(keras.optimizers.LossScaleOptimizer.__init__),
    ),
    "static": Fact(
        "weight after an overflow with loss_scale_factor",
        lambda: moved(SGD(1.0, loss_scale_factor=1024.0), [INFINITY]),
    ),
    "accumulated": Fact(
        "weight and scale over accumulated gradients 1, inf, 3, 4, three to a step", accumulated
    ),
    "counted": Fact(
        "the step for which a schedule is asked at updates of four accumulated gradients each",
        counted_steps,
    ),
    "iterations": Fact(
        "optimizer.iterations after eight accumulated gradients, four to an update", told_steps
    ),
    "recomputed layer": Fact(
        "recompute_grad repeats the mask of a Dropout layer",
        lambda: recomputed(lambda x: LAYERS.Dropout(0.5)(x, training=True)),
    ),
    "clipped": Fact(
        "weight after a gradient of 1e-5 with global_clipnorm=1e-5",
        lambda: moved(SGD(1.0, global_clipnorm=1e-5), [1e-5]),
    ),
    "adam": Fact(
        "weight after the first step of Adam with a gradient and an epsilon of 1e-3",
        lambda: moved(ADAM(1.0, epsilon=1e-3), [1e-3]),
    ),
    "adam decay": Fact(
        "weight of 1 after a step of Adam of rate 0.5, weight_decay=0.1 and no gradient",
        lambda: moved(ADAM(0.5, weight_decay=0.1), [0.0], start=1.0),
    ),
    "sgd decay": Fact(
        "weight of 1 after two steps of SGD of rate 0.5, weight_decay=0.1 and no gradient",
        lambda: moved(SGD(0.5, momentum=0.5, weight_decay=0.1), [0.0, 0.0], start=1.0),
    ),
    "momentum": Fact("weight with momentum 0.5 when the rate falls to 0", rate_falls_to_zero),
    "adam rounding": Fact(
        "weight after the first step of Adam with a gradient of 1",
        lambda: moved(ADAM(1.0, epsilon=1e-30), [1.0]),
    ),
    "decays": Fact("share of its decay that AdamW applies, by the rate", decays),
    "lion shares": Fact(
        "share of a first gradient in the momentum of Lion, with betas close to 1",
        lambda: {b: shares(keras.optimizers.Lion(1.0, b, b), "momentum") for b in NEAR_ONE},
    ),
    "adam arguments": Fact("parameters of Adam", lambda: parameters(ADAM.__init__)),
    "lamb": Fact(
        "weight of 1 after a step of Lamb of rate 0.5, weight_decay=0.1 and no gradient",
        lambda: moved(keras.optimizers.Lamb(0.5, weight_decay=0.1), [0.0], start=1.0),
    ),
    "adafactor": Fact(
        "weight of 1 after a step of Adafactor of rate 0.5 with a gradient of 1e-3",
        lambda: moved(keras.optimizers.Adafactor(0.5, epsilon_1=1e-2), [1e-3], start=1.0),
    ),
    "averages": Fact(
        "average of a weight that falls by 1 every second accumulated gradient", averages
    ),
    "frozen": Fact("what a frozen layer still changes", lambda: frozen(keras)),
    "half": Fact(
        "types of layers in float16, and a weight after a hundred small steps", half_weights
    ),
    "normalization": Fact(
        "results of LayerNormalization under mixed policies that are not rounded once",
        lambda: {name: normalized(name) for name in ("float16", "bfloat16")},
    ),
    "attention": Fact("what dot_product_attention fuses and drops", attention),
    "names": Fact(
        "names of the weights of layers",
        lambda: {
            "dense": names(LAYERS.Dense(4)),
            "embedding": names(LAYERS.Embedding(4, 4)),
            "layer": names(LAYERS.LayerNormalization()),
            "batch": names(LAYERS.BatchNormalization()),
            "group": names(LAYERS.GroupNormalization(2)),
        },
    ),
}
TENSORFLOW = {
    "recomputed function": Fact(
        "recompute_grad repeats the mask of tf.nn.dropout",
        lambda: recomputed(lambda x: tf.nn.dropout(x, 0.5)),
    ),
    "recomputed seeded": Fact(
        "recompute_grad repeats the mask of stateless_dropout", lambda: recomputed(seeded)
    ),
    "clipped huge": Fact(
        "clip_by_global_norm of gradients of 3e30 and 4e30",
        lambda: tf.clip_by_global_norm([tf.constant(HUGE)], 1.0)[0][0].numpy().tolist(),
    ),
    "clip arguments": Fact(
        "parameters of clip_by_global_norm", lambda: parameters(tf.clip_by_global_norm)
    ),
    "kept softmax": Fact(
        "types of what the gradient of a softmax between casts reads",
        lambda: kept(lambda x: tf.cast(tf.nn.softmax(tf.cast(x, tf.float32)), x.dtype)),
    ),
    "kept attention": Fact(
        "types of what the gradient of dot_product_attention reads of its scores",
        lambda: kept(lambda x: keras.ops.dot_product_attention(*[x[..., None, :]] * 3)[..., 0, :]),
    ),
    "kept normalization": Fact(
        "types of what the gradient of a mixed LayerNormalization reads", kept_normalization
    ),
    "kept gelu": Fact(
        "types of what the gradient of gelu reads beside its input",
        lambda: kept(lambda x: tf.nn.gelu(x, approximate=False)),
    ),
    "half divisor": Fact(
        "mean of bfloat16 numbers that are divided by 0.9, by that of the exact results",
        half_divisor,
    ),
    "row_losses": Fact("worst error of a row's cross-entropy in half", row_losses),
}
FACTS = {"keras": KERAS, "tensorflow": TENSORFLOW}

if __name__ == "__main__":
    main(FACTS)
