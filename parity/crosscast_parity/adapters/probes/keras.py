"""Keras `fit` on the neutral cases: accumulation and clipping are arguments of the optimizer."""

from __future__ import annotations

import os
import warnings
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

from crosscast_parity.adapters.cases import START, Case, NotAsked, Seen

PACKAGES = ("keras", "tensorflow-cpu")


class Toy(keras.layers.Layer):
    """One weight; the loss of a row is weight * row."""

    def build(self, _: Any) -> None:
        """Make the weight."""
        start = keras.initializers.Constant(START)
        self.weight = self.add_weight(shape=(1,), initializer=start)

    def call(self, rows: Any) -> Any:
        """Return the loss of every row."""
        return self.weight * rows


class Falling(keras.optimizers.schedules.LearningRateSchedule):
    """The case's rates. `step` is whatever Keras counts."""

    def __init__(self, total: int) -> None:
        self.total = total

    def __call__(self, step: Any) -> Any:
        """Return the rate of a step."""
        return keras.ops.maximum(0.0, 1.0 - keras.ops.cast(step, "float32") / self.total)


class Watch(keras.callbacks.Callback):
    """Looks at the state after every micro-batch."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = Seen.nothing()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """After a micro-batch."""
        outer = self.model.optimizer
        inner = getattr(outer, "inner_optimizer", outer)
        scale = float(outer.dynamic_scale) if inner is not outer else None
        weight = float(np.asarray(self.model.trainable_variables[0]).ravel()[0])
        slots = []
        if isinstance(inner, keras.optimizers.AdamW):
            moments = [inner._momentums[0], inner._velocities[0]]
            slots = [float(inner.iterations), *(float(np.asarray(m).ravel()[0]) for m in moments)]
        self.seen.add(weight, scale, slots)


def make_optimizer(case: Case) -> Any:
    """SGD or AdamW with the case's rates."""
    rate = 1.0 if case.total is None else Falling(case.total)
    settings: dict[str, Any] = {"global_clipnorm": case.clip}
    if case.steps > 1:
        settings["gradient_accumulation_steps"] = case.steps
    if case.optimizer == "sgd":
        return keras.optimizers.SGD(rate, **settings)
    return keras.optimizers.AdamW(rate, weight_decay=0.0, epsilon=1e-8, **settings)


def mean_output(_: Any, output: Any) -> Any:
    """The loss of every row is the model's output."""
    return keras.ops.mean(keras.ops.cast(output, "float32"), axis=-1)


def run(case: Case) -> Seen:
    """Train the toy."""
    if case.counted or case.fused:
        raise NotAsked("no such setting")
    keras.config.set_dtype_policy("float32" if case.scale is None else "mixed_float16")
    model = keras.Sequential([keras.Input((1,)), Toy()])
    optimizer = make_optimizer(case)
    if case.scale is not None:
        optimizer = keras.optimizers.LossScaleOptimizer(
            optimizer, initial_scale=case.scale, dynamic_growth_steps=case.interval
        )
    model.compile(optimizer=optimizer, loss=mean_output)
    rows = np.array(case.rows, np.float32)[:, None]
    watch = Watch()
    model.fit(
        rows,
        np.zeros_like(rows),
        batch_size=case.micro,
        epochs=case.epochs,
        shuffle=False,
        callbacks=[watch],
        verbose=0,
    )
    watch.seen.counter = int(model.optimizer.iterations)
    return watch.seen


def half() -> dict[str, Any]:
    """Train in float16 on a CPU."""
    keras.config.set_dtype_policy("mixed_float16")
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.compile(optimizer="sgd", loss="mse")
        model.fit(np.ones((1, 1)), np.ones((1, 1)), verbose=0)
    return {
        "computed": str(model(np.ones((1, 1))).dtype.name),
        "scaler": isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer),
        "warned": any("float16" in str(w.message) for w in caught),
    }
