"""Probes the tables of what Keras 3 reads otherwise; prints what is wrong."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from crosscast_tensorflow.migration.experimental.keras.added_code import CALLED, SYMBOLIC, TEXTS
from crosscast_tensorflow.migration.experimental.keras_names.old_defaults import CHANGED, DEFAULTS
from crosscast_tensorflow.migration.experimental.keras_names.orders import ORDERS
from crosscast_tensorflow.migration.experimental.keras_names.own_metrics import AGGREGATIONS
from crosscast_tensorflow.migration.experimental.keras_names.public_names import (
    OF_TENSORFLOW,
    PUBLIC,
)
from crosscast_tensorflow.migration.experimental.keras_names.removed_attributes import (
    HYPERPARAMETERS,
    REMOVED,
)
from crosscast_tensorflow.migration.experimental.keras_names.symbol_calls import OPAQUE, WORKS
from crosscast_tensorflow.migration.experimental.keras_names.training_calls import MODES

warnings.simplefilter("ignore")
tk: Any = tf.keras
ROWS = np.ones((4, 3), np.float32)


def found(name: str, root: Any = tf) -> Any:
    here = root
    for part in name.split("."):
        here = getattr(here, part, None)
    return here


def fails(made: Callable[[], Any]) -> bool:
    try:
        made()
    except (TypeError, ValueError, AttributeError, NotImplementedError):
        return True
    return False


def names() -> list[str]:
    """The public names."""
    out = []
    for home, listed in PUBLIC.items():
        for name in listed:
            full = f"{home}.{name}"
            try:
                there = found(full) is not None or found(full.partition(".")[2], keras) is not None
            except AttributeError:
                there = False
            if not there:
                out.append(f"{full} is missing")
    for home, listed in OF_TENSORFLOW.items():
        owner = found(home.partition(".")[2], keras) if "." in home else keras
        out += [
            f"{home}.{n} is in keras" for n in listed if owner is not None and hasattr(owner, n)
        ]
    return out


def signatures() -> list[str]:
    """Orders and defaults."""
    out = []
    for name, (first, order) in ORDERS.items():
        made = found(name)
        made = made.__init__ if inspect.isclass(made) else made
        here = [p for p in inspect.signature(made).parameters.values() if p.name != "self"]
        if name == "keras.Model":
            if not fails(lambda: tk.Model(tk.Input((2,)), tk.Input((2,)), "m")):
                out.append("Model takes a name by its place")
            continue
        places = [p.name for p in here if p.kind is not p.VAR_KEYWORD]
        if places[:first] != list(order[:first]) or places[first : first + 1] == [order[first]]:
            out.append(f"the order of {name} is {places[: first + 1]}")
    for name, rows in DEFAULTS.items():
        function = found(name)
        given = inspect.signature(function.__init__ if inspect.isclass(function) else function)
        for argument, (_, old) in rows.items():
            new = given.parameters[argument].default
            if str(new) == old:
                out.append(f"{argument} of {name} is {old} as before")
    out += [f"{name} is missing" for name in CHANGED if found(name) is None]
    if tk.utils.to_categorical([1], 2).dtype != np.float64:
        out.append("to_categorical")
    for name, place in MODES.items():
        places = list(inspect.signature(getattr(tk.callbacks, name)).parameters)
        if places[place] != "mode":
            out.append(f"mode of {name}")
    return out


def attributes() -> list[str]:
    """What is gone."""
    layer = tk.layers.Dense(2)
    model = tk.Sequential([tk.Input((3,)), layer])
    model.compile("sgd", "mse")
    owners = {
        "model": model, "layer": layer, "optimizer": tk.optimizers.Adam(), "weight": layer.kernel,
    }  # fmt: skip
    out = []
    for row in REMOVED:
        owner = owners[row.owner]
        if hasattr(owner, row.name) and row.name not in ("metrics_names", "value", "variables"):
            out.append(f"{row.name} of a {row.owner} exists")
        if row.new and not hasattr(owner, row.new.partition(".")[0]):
            out.append(f"{row.new} of a {row.owner} is missing")
    model.evaluate(ROWS, ROWS[:, :2], verbose=0)
    if model.metrics_names != ["loss"] or callable(layer.kernel.value):
        out.append("metrics_names or value")
    model.compile("sgd", "mse", metrics=["mae"])
    model.evaluate(ROWS, ROWS[:, :2], verbose=0)
    if "mae" in model.metrics_names:
        out.append("metrics_names holds the metrics")
    optimizer = tk.optimizers.SGD(0.1, momentum=0.5)
    if any(isinstance(getattr(optimizer, n, None), tk.Variable) for n in HYPERPARAMETERS):
        out.append("a hyperparameter is a variable")
    for rate in (tf.constant(0.1), tf.Variable(0.1)):
        if not fails(lambda rate=rate: tk.optimizers.SGD(rate)):  # type: ignore[misc]
            out.append("a rate may be a tensor")
    scheduled = tk.callbacks.LearningRateScheduler(lambda epoch: tf.constant(0.1))
    if not fails(lambda: model.fit(ROWS, ROWS[:, :2], verbose=0, callbacks=[scheduled])):
        out.append("a schedule may return a tensor")
    return out


def weights() -> list[str]:
    """What add_weight of metrics and layers takes."""
    out = []
    for base in (tk.metrics.Metric, tk.layers.Layer):
        made = type("Own", (base,), {"update_state": None, "result": None})
        metric = base is tk.metrics.Metric
        if fails(lambda made=made: made().add_weight((2,), "zeros", name="w")):  # type: ignore[misc]
            out.append(f"the shape of {base.__name__}")
        if not metric and not fails(lambda made=made: made().add_weight("w", (2,))):  # type: ignore[misc]
            out.append(f"the name of {base.__name__} by its place")
        for word in AGGREGATIONS.values():
            add = "add_variable" if metric else "add_weight"
            given = {"shape": (), "initializer": "zeros", "aggregation": word, "name": "w"}
            if fails(lambda made=made, add=add, given=given: getattr(made(), add)(**given)):  # type: ignore[misc]
                out.append(f"{add} of {base.__name__} takes no {word}")
        for word in ("use_resource", "synchronization"):
            if not fails(
                lambda made=made, word=word: made().add_weight(shape=(), name="w", **{word: None})  # type: ignore[misc]
            ):
                out.append(f"add_weight of {base.__name__} takes {word}")
    return out


def symbols() -> list[str]:
    """What takes inputs of models."""
    out = []
    x = tk.Input((3,))
    plain = {"tensorflow.nn.relu", "tensorflow.concat", "keras.backend.mean", "tensorflow.shape"}
    for name in plain:
        function = found(name.removeprefix("tensorflow."))
        argument = ([x, x], -1) if name.endswith("concat") else (x,)
        if not fails(lambda function=function, argument=argument: function(*argument)):  # type: ignore[misc]
            out.append(f"{name} takes an input")
    for name in (*WORKS, *OPAQUE):
        if found(name.removeprefix("tensorflow.")) is None:
            out.append(f"{name} is missing")
    if fails(lambda: tf.TensorShape(x.shape)) or fails(lambda: tk.backend.int_shape(x)):
        out.append("shapes of inputs")
    given: dict[str, Any] = {"tf": tf}
    exec("\n\n".join(TEXTS[name] for name in (SYMBOLIC, CALLED)), given)
    call = given[CALLED]
    y = call("concat", [call("nn.leaky_relu", x, alpha=0.5), x], axis=-1)
    model = tk.Model(x, call("cast", y, tf.float64))
    wanted = np.concatenate([-0.5 * ROWS, -ROWS], -1)
    again = tk.models.model_from_json(model.to_json())
    for made in (model, again):
        if made.output.dtype != "float64" or np.any(made(-ROWS) != wanted):
            out.append("functions called by a layer")
    if np.any(call("abs", -ROWS) != ROWS):
        out.append("functions of tensors")
    return out


if __name__ == "__main__":
    print(json.dumps([*names(), *signatures(), *attributes(), *weights(), *symbols()]))
