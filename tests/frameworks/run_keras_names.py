"""Probes every row of the tables of Keras 2 names in the installed Keras; prints what is wrong."""

from __future__ import annotations

import inspect
import json
import re
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from crosscast_tensorflow.migration.experimental.keras_names.orders import ORDERS
from crosscast_tensorflow.migration.experimental.keras_names.places import OLD_METHODS
from crosscast_tensorflow.migration.experimental.keras_names.table import (
    ARGUMENTS,
    DEFAULT_RATES,
    GENERATORS,
    GONE,
    MOVED,
    Moved,
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
    "save_model": (tf.keras.Sequential([tf.keras.Input((2,))]), f"{FOLDER}/used.keras"),
    "load_model": (f"{FOLDER}/used.keras",),
    "to_categorical": ([1, 0],),
}
FILES = {
    ".save": "used.keras",
    ".save_weights": "used.weights.h5",
    ".load_weights": "read.weights.h5",
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
    if "Model" in call and not call.startswith("."):
        inputs = tf.keras.Input((3,))
        both = {argument: inputs, "outputs" if argument[:2] == "in" else "inputs": inputs}
        return lambda: tf.keras.Model(**both)
    if "LossScaleOptimizer" in call:
        inner = {"inner_optimizer": tf.keras.optimizers.SGD()}
        return lambda: tf.keras.mixed_precision.LossScaleOptimizer(**given | inner)
    if call.startswith("."):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        if call == ".compile":
            return lambda: model.compile("sgd", "mse", **given)
        model.compile("sgd", "mse")
        if call in FILES:
            model.build((None, 3))
            model.save_weights(f"{FOLDER}/read.weights.h5")
            return lambda: getattr(model, call[1:])(f"{FOLDER}/{FILES[call]}", **given)
        if call.endswith("_on_batch"):
            return lambda: getattr(model, call[1:])(ROWS, ROWS[:, :1], **given)
        rows = (ROWS,) if call == ".predict" else (ROWS, ROWS[:, :1])
        return lambda: getattr(model, call[1:])(*rows, verbose=0, **given)
    names = re.sub(r"\[A-Z\]\\w\*", "Adam" if "optimizers" in call else "Flatten", call)
    names = names.replace("(?!Embedding$)", "")
    name = re.sub(r"\((\w+)\|.*\)", r"\1", names).replace("\\", "")
    return lambda: found(name)(*MADE.get(name.rpartition(".")[2], ()), **given)


def in_library(row: Moved, name: str) -> Any:
    """A name of a row where it is asked for: in tf.keras, or in keras alone."""
    if row.library != "keras":
        return found(name)
    here: Any = keras
    for part in name.split(".")[1:]:
        here = getattr(here, part, None)
    return here


def wrong() -> list[str]:
    out: list[str] = []
    for row in MOVED:
        old, new = in_library(row, row.old), in_library(row, row.new)
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
        # ReduceLROnPlateau accepts epsilon with a warning, load_weights of .h5 files by_name; a
        # scale of None fails in the first step only.
        kept = ("epsilon", "by_name", "initial_scale", "dynamic_growth_steps")
        if argument.old not in kept and not fails(used(argument.call, argument.old)):
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
    return [*out, *_silent(), *_orders()]


def _orders() -> list[str]:
    """Positional arguments."""
    out = []
    for name, (first, order) in ORDERS.items():
        made = found(name)
        if made is None or name == "keras.Model":  # it takes inputs and outputs by their places
            continue
        made = made.__init__ if inspect.isclass(made) else made
        here = [p for p in inspect.signature(made).parameters.values() if p.name != "self"]
        places = [p.name for p in here if p.kind is not p.VAR_KEYWORD]
        if places[:first] != list(order[:first]) or places[first : first + 1] == [order[first]]:
            out.append(f"the order of {name} is {places[: first + 1]}")
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
