"""Probes every row of the tables of Keras 2 names in the installed Keras; prints what is wrong."""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from crosscast.migrate.keras_names.table import (
    ARGUMENTS,
    DEFAULT_RATES,
    GENERATORS,
    GONE,
    MOVED,
    OLD_METHODS,
)

warnings.simplefilter("ignore")
FOLDER = tempfile.mkdtemp()
ROWS = np.zeros((4, 3), np.float32)
MADE = {
    "ModelCheckpoint": (f"{FOLDER}/a.keras",),
    "TensorBoard": (FOLDER,),
    "LSTM": (2,),
    "GRU": (2,),
    "RNN": (tf.keras.layers.SimpleRNNCell(2),),
    "SimpleRNN": (2,),
}
VALUES = {
    "lr": 0.1,
    "epochs": 1,
    "steps_per_execution": 1,
    "learning_rate": 0.1,
    "min_delta": 0.1,
    "epsilon": 0.1,
}


def found(name: str) -> Any:
    """Something in tf.keras by its canonical name; None if it is missing."""
    here: Any = tf
    try:
        for part in name.split("."):
            here = getattr(here, part)
        return here
    except (AttributeError, ImportError):
        return None


def fails(made: Callable[[], Any]) -> bool:
    try:
        made()
    except (TypeError, ValueError, AttributeError, ImportError):
        return True
    return False


def _call(made: Callable[[], Any]) -> Any:
    return made()


def used(call: str, argument: str) -> Callable[[], Any]:
    """A use of an argument in the call of a row."""
    given = {argument: VALUES.get(argument)}
    if call.startswith("."):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        if call == ".compile":
            return lambda: model.compile("sgd", "mse", **given)
        model.compile("sgd", "mse")
        rows = (ROWS,) if call == ".predict" else (ROWS, ROWS[:, :1])
        return lambda: getattr(model, call[1:])(*rows, verbose=0, **given)
    names = re.sub(r"\[A-Z\]\\w\*", "Adam" if "optimizers" in call else "Flatten", call)
    name = re.sub(r"\((\w+)\|.*\)", r"\1", names).replace("\\", "")
    return lambda: found(name)(*MADE.get(name.rpartition(".")[2], ()), **given)


def wrong() -> list[str]:
    out: list[str] = []
    for row in MOVED:
        old, new = found(row.old), found(row.new)
        still = old is not None and not fails(partial(_call, old)) and "Reduction" not in row.old
        if still:
            out.append(f"{row.old} exists")
        if new is None:
            out.append(f"{row.new} is missing")
    out += [f"{row.old} exists" for row in GONE if found(row.old) is not None]
    reduction = tf.keras.losses.Reduction.AUTO
    if not fails(lambda: tf.keras.losses.MeanSquaredError(reduction=reduction)):
        out.append("Reduction.AUTO works")
    for argument in ARGUMENTS:
        # ReduceLROnPlateau accepts epsilon with a warning.
        if argument.old != "epsilon" and not fails(used(argument.call, argument.old)):
            out.append(f"{argument.call} takes {argument.old}")
        if argument.new and fails(used(argument.call, argument.new)):
            out.append(f"{argument.call} does not take {argument.new}")
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    for old, (new, _) in GENERATORS.items():
        if hasattr(model, old) or not hasattr(model, new):
            out.append(f"{old} exists")
    for name, rate in DEFAULT_RATES.items():
        made = getattr(tf.keras.optimizers, name)()
        if not np.isclose(float(made.learning_rate.numpy()), float(rate)):
            out.append(f"{name} has another rate")
        if any(hasattr(made, method) for method in OLD_METHODS):
            out.append(f"{name} has methods of Keras 2")
    out += _silent()
    return out


def _silent() -> list[str]:
    """What Keras 3 accepts without doing it."""
    out = []
    decayed, plain = tf.keras.optimizers.SGD(0.1, decay=0.5), tf.keras.optimizers.SGD(0.1)
    first, second = tf.Variable([1.0]), tf.Variable([1.0])
    for _ in range(3):
        decayed.apply_gradients([(tf.constant([1.0]), first)])
        plain.apply_gradients([(tf.constant([1.0]), second)])
    if first.numpy() != second.numpy():
        out.append("decay has an effect")
    plain.lr = 7.0
    if float(plain.learning_rate.numpy()) == 7.0:
        out.append("lr has an effect")
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.build((None, 3))
    if not fails(lambda: model.save_weights(f"{FOLDER}/a.h5")):
        out.append("weights may end in .h5")
    if fails(lambda: model.save_weights(f"{FOLDER}/a.weights.h5")):
        out.append("weights may not end in .weights.h5")
    if hasattr(tf.keras.metrics.Mean(), "reset_states"):
        out.append("metrics have reset_states")
    return out


if __name__ == "__main__":
    print(json.dumps(wrong()))
