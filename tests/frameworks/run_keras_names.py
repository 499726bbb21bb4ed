"""Probes every row of the tables of Keras 2 names in the installed Keras; prints what is wrong."""

from __future__ import annotations

import importlib
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

from crosscast_tensorflow.migration.experimental.keras.added_code import (
    CELL,
    CLEARED,
    MODULES,
    POLICY,
    TEXTS,
)
from crosscast_tensorflow.migration.experimental.keras_names.losses import OLD_LOSSES
from crosscast_tensorflow.migration.experimental.keras_names.optimizer_table import (
    MOVED_MODULES,
    MOVED_NAMES,
    OLD_METHODS,
    PRIVATE_NAMES,
    TAKEN,
)
from crosscast_tensorflow.migration.experimental.keras_names.table import (
    ARGUMENTS,
    DEFAULT_RATES,
    GENERATORS,
    GONE,
    MOVED,
    PRIVATE,
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
        # ReduceLROnPlateau accepts epsilon with a warning, load_weights of .h5 files by_name.
        kept = ("epsilon", "by_name")
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
    private = [f"keras.{home}" for home in PRIVATE]
    private += [f"keras.{home}.{name}" for home, names in PRIVATE.items() for name in names.split()]
    out += [f"{name} is missing" for name in private if found(name) is None]
    return [*out, *_silent(), *_modules(), *_layers(), *_sessions(), *_own_optimizers()]


def _own_optimizers() -> list[str]:
    """What optimizers for Keras 2 use, and the names that those of Keras 3 have for themselves."""
    out = [name for name in TAKEN if not hasattr(tf.keras.optimizers.Adam(), name)]
    for owner, names in PRIVATE_NAMES.items():
        module = importlib.import_module(owner)
        out += [f"{owner}.{name} is gone" for name in names if not hasattr(module, name)]
    out += [f"{new} is gone" for new in MOVED_NAMES.values() if found(new[len("tf.") :]) is None]
    for old in [*MOVED_MODULES, *MOVED_NAMES]:
        owner, _, name = old.rpartition(".")
        if hasattr(importlib.import_module(owner), name):
            out.append(f"{old} is there")
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


def _modules() -> list[str]:
    """What modules of TensorFlow and threads see of Keras 3."""
    given: dict[str, Any] = {"tf": tf}
    exec("\n\n".join(TEXTS[name] for name in (MODULES, POLICY)), given)
    out = []
    for base, count in ((tf.Module, 0), (given[MODULES], 3)):
        module = type("Net", (base,), {})()
        module.parts = {"dense": tf.keras.layers.Dense(1), "inner": type("In", (base,), {})()}
        module.parts["inner"].mean = tf.keras.layers.Dense(1, use_bias=False)
        module.parts["dense"](ROWS), module.parts["inner"].mean(ROWS)
        if not len(module.variables) == len(module.trainable_variables) == count:
            out.append(f"{base.__name__} finds {len(module.variables)} variables")
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    seen: list[str] = []

    def replica() -> None:
        seen.append(tf.keras.mixed_precision.global_policy().name)

    strategy = tf.distribute.MirroredStrategy(["cpu:0"])
    strategy.run(replica)
    strategy.run(given[POLICY](replica))
    tf.keras.mixed_precision.set_global_policy("float32")
    if seen != ["float32", "mixed_float16"]:
        out.append(f"replicas see the policies {seen}")
    for name, states in (("GRUCell", 1), ("SimpleRNNCell", 1), ("LSTMCell", 2)):
        cell = getattr(tf.keras.layers, name)(2)
        zeros = cell.get_initial_state(4)
        if [tuple(zero.shape) for zero in zeros] != [(4, 2)] * states:
            out.append(f"the first states of {name}")
        if not fails(partial(cell.get_initial_state, None, 4, tf.float32)):
            out.append(f"{name}.get_initial_state takes a dtype")
    layer, optimizer = tf.keras.layers.Dense(1), tf.keras.optimizers.AdamW(0.1, weight_decay=0.5)
    layer.build((None, 3))
    if layer.bias.name != "bias" or not isinstance(optimizer.weight_decay, float):
        out.append("names of variables have their layer, or weight_decay is no number")
    model = tf.keras.Sequential([layer])
    if model.compiled or model.compiled_loss is None or hasattr(optimizer, "lr"):
        out.append("compiled, compiled_loss or lr")
    if callable(optimizer.learning_rate.value):
        out.append("value of a rate is a method")
    for old, new in OLD_LOSSES.items():
        if not fails(partial(tf.keras.losses.get, old)) or fails(partial(tf.keras.losses.get, new)):
            out.append(old)
    return out


class _Flip(tf.keras.layers.Layer):  # type: ignore[misc]
    """A layer that asks for the value of a tensor."""

    def call(self, inputs: Any) -> Any:
        if tf.reduce_sum(inputs) > 0:
            return -inputs
        return inputs


class _Flipped(_Flip):
    call = tf.function(_Flip.call)


def _layers() -> list[str]:
    """What Keras 3 does with the program's own layers."""
    out = []
    inputs = tf.keras.Input((3,))
    if not fails(lambda: _Flip()(inputs)):
        out.append("AutoGraph converts call")
    model = tf.keras.Model(inputs, _Flipped()(inputs))
    if np.any(model(np.ones((2, 3), np.float32)) != -1) or np.any(model(-ROWS) != 0):
        out.append("a call that is a tf.function")
    given: dict[str, Any] = {"tf": tf}
    exec(TEXTS[CELL], given)

    def add(self: Any, inputs: Any, states: Any) -> Any:
        total = inputs + states[0]
        return total, [total]

    Sum = type("Sum", (given[CELL],), {"state_size": 3, "call": add})
    sums = tf.keras.layers.RNN(Sum())(np.ones((2, 4, 3), np.float32))
    zeros = Sum().get_initial_state(None, 2, tf.float16)
    if np.any(sums != 4) or zeros.dtype != tf.float16 or zeros.shape != (2, 3):
        out.append("a cell that begins with zeros")
    return out


def _sessions() -> list[str]:
    """What is left after clear_session, and which names of files are taken."""
    out = []
    given: dict[str, Any] = {"tf": tf}
    exec(TEXTS[CLEARED], given)
    for clear, left in ((tf.keras.backend.clear_session, "float32"), (given[CLEARED], "float64")):
        tf.keras.mixed_precision.set_global_policy("float64")
        clear()
        if tf.keras.mixed_precision.global_policy().name != left:
            out.append(f"clear_session leaves another policy than {left}")
    tf.keras.mixed_precision.set_global_policy("float32")
    steps = tf.keras.optimizers.SGD()
    if not fails(lambda: setattr(steps, "iterations", 3)) or steps.iterations.assign(3) != 3:
        out.append("iterations of an optimizer")
    for end, taken in ((".keras", True), (".hdf5", False)):
        made = partial(tf.keras.callbacks.ModelCheckpoint, f"{FOLDER}/b{end}")
        if fails(made) == taken:
            out.append(f"ModelCheckpoint and {end}")
    return out


if __name__ == "__main__":
    print(json.dumps(wrong()))
