"""Reads defaults of the installed TensorFlow: `read_defaults.py QUESTIONS`, JSON in and out."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import tensorflow as tf

# isort: split
from probes.signatures import read, resolve

INF = float("inf")


def machine(scales: Any, floor: bool = True) -> Any:
    """Return the fixed fields; `scales` maps initial scale and gradients to the scales after."""
    falling = scales(8.0, [INF] * 4)
    (grown,) = scales(8.0, [1.0])
    found = {
        "loss_scaling.growth_factor": grown / 8.0,
        "loss_scaling.backoff_factor": falling[0] / 8.0,
        "loss_scaling.hysteresis": 1 + [scale < 8.0 for scale in falling].index(True),
    }
    lowest = scales(2.0 ** (1 if floor else -148), [INF] * 3)[-1]
    return {**found, "loss_scaling.min_scale": lowest or None}


def keras_scales(initial: Any, gradients: Any) -> Any:
    import keras

    inner = keras.optimizers.SGD(0.0)
    optimizer = keras.optimizers.LossScaleOptimizer(inner, initial, dynamic_growth_steps=1)
    optimizer.build([keras.Variable(0.0)])
    found = []
    for gradient in gradients:
        optimizer.apply([tf.constant(gradient)])
        found.append(float(optimizer.dynamic_scale.numpy()))
    return found


def keras_machine() -> Any:
    highest = keras_scales(2.0**126, [1.0] * 3)[-1]
    bound = None if highest == INF else highest
    return {**machine(keras_scales, floor=False), "loss_scaling.max_scale": bound}


def keras2(prefix: Any) -> Any:
    """Return the readers for Keras 2 by the name of the package that holds it."""

    def keras() -> Any:
        return importlib.import_module("tf_keras") if prefix == "tf_keras" else tf.keras

    def make(initial: float | None = None) -> Any:
        settings = {} if initial is None else {"initial_scale": initial, "dynamic_growth_steps": 1}
        return keras().mixed_precision.LossScaleOptimizer(keras().optimizers.SGD(0.0), **settings)

    def built() -> Any:
        optimizer = make()
        return {
            "dynamic": optimizer.dynamic,
            "initial_scale": float(optimizer.initial_scale),
            "dynamic_growth_steps": int(optimizer.dynamic_growth_steps),
        }

    def scales(initial: Any, gradients: Any) -> Any:
        optimizer, weight, found = make(initial), tf.Variable(0.0), []
        for gradient in gradients:
            optimizer.apply_gradients([(tf.constant(gradient), weight)])
            found.append(float(optimizer.loss_scale))
        return found

    def placement(name: Any) -> Any:
        def first_step() -> Any:
            weight = tf.Variable(0.0)
            optimizer = getattr(keras().optimizers, name)(1.0, epsilon=1e-3)
            optimizer.apply_gradients([(tf.constant(1e-3), weight)])
            return eps_placement(float(weight.numpy()))

        return first_step

    def momentum() -> Any:
        optimizer, weight = keras().optimizers.SGD(1.0, momentum=0.5), tf.Variable(0.0)
        optimizer.apply_gradients([(tf.constant(1.0), weight)])
        optimizer.learning_rate.assign(0.0)
        optimizer.apply_gradients([(tf.constant(0.0), weight)])
        return {"optimizer.rate_in_momentum": float(weight.numpy()) == -1.5}

    name = f"{prefix}.mixed_precision.LossScaleOptimizer"
    fixed = {
        name: lambda: machine(scales),
        f"{prefix}.optimizers.SGD": momentum,
        f"{prefix}.optimizers.Adam": placement("Adam"),
        f"{prefix}.optimizers.AdamW": placement("AdamW"),
    }
    return {f"{name}/built": built}, fixed


def eps_placement(moved: Any) -> Any:
    """Tell the forms apart by a first step with rate 1 and gradient and epsilon of 1e-3."""
    before = -(0.001**0.5) / (0.001**0.5 + 1.0)  # -0.0307, and -0.5 if it is added after
    near = abs(moved - before) < 1e-3
    return {"optimizer.eps_placement": "before_correction" if near else "after_correction"}


def keras_placement(name: Any) -> Any:
    def first_step() -> Any:
        import keras

        weight = keras.Variable(0.0)
        settings = {"weight_decay": 0.0} if name == "AdamW" else {}
        optimizer = getattr(keras.optimizers, name)(1.0, epsilon=1e-3, **settings)
        optimizer.apply([tf.constant(1e-3)], [weight])
        return eps_placement(float(weight.numpy()))

    return first_step


def keras_momentum() -> Any:
    import keras

    optimizer, weight = keras.optimizers.SGD(1.0, momentum=0.5), keras.Variable(0.0)
    optimizer.apply([tf.constant(1.0)], [weight])
    optimizer.learning_rate = 0.0
    optimizer.apply([tf.constant(0.0)], [weight])
    return {"optimizer.rate_in_momentum": float(weight.numpy()) == -1.5}


def v1_machine() -> Any:
    def scales(initial: Any, gradients: Any) -> Any:
        kind = resolve("tensorflow.compat.v1.mixed_precision.DynamicLossScale")
        scale, found = kind(initial, increment_period=1), []
        for gradient in gradients:
            scale.update([tf.constant(gradient)])
            found.append(float(scale()))
        return found

    return machine(scales)


def clip() -> Any:
    ((clipped,), _) = tf.clip_by_global_norm([tf.constant([1e-5], tf.float64)], 1e-5)
    return {"clipping.eps": round(1e-10 / float(clipped[0]) - 1e-5, 12)}


if __name__ == "__main__":
    FORMS, FIXED = {}, {}
    for package in ("tensorflow.keras", "tf_keras"):
        forms, fixed = keras2(package)
        FORMS.update(forms)
        FIXED.update(fixed)
    FIXED.update(
        {
            "keras.optimizers.LossScaleOptimizer": keras_machine,
            "keras.optimizers.SGD": keras_momentum,
            "keras.optimizers.Adam": keras_placement("Adam"),
            "keras.optimizers.AdamW": keras_placement("AdamW"),
            "tensorflow.compat.v1.mixed_precision.DynamicLossScale": v1_machine,
            "tensorflow.clip_by_global_norm": clip,
        }
    )
    print(json.dumps(read(json.loads(sys.argv[1]), FORMS, FIXED)))
