"""Prints the rows of the tables for Keras programs of TensorFlow 1 that do not hold."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import tensorflow as tf

from crosscast_tensorflow.migration.experimental.tensorflow1.eager_names import (
    DIFFERENT,
    INITIALIZERS,
    KEPT,
    RENAMED,
    SAME,
    SEEDS,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.keras_meanings import (
    METRIC_KEYS,
    RECURRENT,
)
from crosscast_tensorflow.migration.experimental.tensorflow1.train_optimizers import OPTIMIZERS
from crosscast_tensorflow.migration.experimental.tensorflow1.v1_names import is_v1_name

V1 = tf.compat.v1
NOT_LISTED = (
    "autograph", "compat", "debugging", "distribute", "experimental", "feature_column", "keras",
    "lite", "lookup", "saved_model", "summary", "test",
)  # fmt: skip
KNOWN = ("data.Dataset", "data.Iterator", "gradients", "train.Checkpoint")
"""Names that differ in both, and that other rules handle."""


def found(root: Any, path: str) -> Any:
    """Something by its dotted name; None if it is missing."""
    here = root
    try:
        for part in path.split("."):
            here = getattr(here, part)
    except (AttributeError, ImportError):
        return None
    return here


def parameters(function: Any) -> list[str]:
    """The names of the parameters of a function."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def differing(module: Any, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """The functions of both releases whose parameters differ."""
    for name in dir(module):
        if name.startswith("_") or (not depth and name in NOT_LISTED) or name == "experimental":
            continue
        path, old = f"{prefix}{name}", getattr(module, name, None)
        new = found(tf, path)
        if new is None or old is new:
            continue
        if isinstance(old, ModuleType):
            yield from differing(old, f"{path}.", depth + 1) if depth < 2 else ()
        elif parameters(old) != parameters(new):
            yield path


def same(path: str) -> Iterator[str]:
    """What is wrong with the arguments of a row that are said to mean the same."""
    order, named = SAME[path]
    old, new = parameters(found(V1, path)), parameters(found(tf, path))
    for place, name in enumerate(order):
        if name != "_" and (old[place], new[place]) != (name, name):
            yield f"{path}: {name} is not argument {place} of both"
    yield from (f"{path}: {name}" for name in sorted(named) if name not in old or name not in new)


def wrong() -> Iterator[str]:
    """The rows that do not hold."""
    for old, renamed in RENAMED.items():
        if found(V1, old) is not found(tf, renamed) or found(tf, old) is not None:
            yield f"{old} is not {renamed}"
    for name in sorted({*KEPT, *SEEDS, *OPTIMIZERS, *INITIALIZERS, *DIFFERENT, *SAME}):
        if found(V1, name) is None:
            yield f"tf.compat.v1.{name} is missing"
    yield from (f"{name} is not only of TensorFlow 1" for name in sorted(KEPT)
                if not is_v1_name(name))  # fmt: skip
    for path in SAME:
        yield from same(path)
    for path in differing(V1):
        listed = path in SAME or path in DIFFERENT or path in INITIALIZERS or path in KNOWN
        if not listed and not path.startswith("initializers."):
            yield f"{path} differs and is in no table"
    for old, (new, order, added) in INITIALIZERS.items():
        made = getattr(tf.keras.initializers, new)
        theirs, ours = parameters(found(V1, old)), parameters(made)
        if list(order) != [*theirs[: len(order)]] or list(order) != [*ours[: len(order)]]:
            yield f"{old}: {theirs} and {ours}"
        defaults = inspect.signature(found(V1, old)).parameters
        for key, text in added.items():
            if defaults[key].default not in (float(text), None):
                yield f"{old}: {key} was {defaults[key].default}"
    for old, row in OPTIMIZERS.items():
        arguments = parameters(found(V1, old))
        known = inspect.signature(found(V1, old)).parameters
        if arguments[: len(row.order)] != list(row.order):
            yield f"{old}: {arguments}"
        backs = {renamed: name for name, renamed in row.renamed.items()}
        for key, text in row.added.items():
            if key in backs and known[backs[key]].default != float(text):
                yield f"{old}: {key}"
    yield from layers()


def layers() -> Iterator[str]:
    """What is wrong with the rows of layers and metrics."""
    for name, added in RECURRENT.items():
        given = inspect.signature(getattr(tf.keras.layers, name)).parameters
        if given["recurrent_activation"].default != "sigmoid" or not set(added) <= set(given):
            yield f"{name}: {given}"
    x = tf.constant([1.0])
    if abs(float(tf.keras.activations.hard_sigmoid(x)[0]) - 0.7) < 1e-6:
        yield "hard_sigmoid has its old slope again"
    names = sorted({*METRIC_KEYS, *METRIC_KEYS.values()})
    rows = tf.zeros((2, 2))
    layer = tf.keras.layers.Dense(2)
    model = tf.keras.Sequential([tf.keras.Input((2,)), layer])
    layer.add_loss(tf.constant(8.0))
    model.compile("sgd", "mse", metrics=names, run_eagerly=True)
    history = model.fit(rows, rows, verbose=0).history
    yield from (f"{name} is not a key" for name in names if name not in history)
    if history["loss"][0] > 1:
        yield "Keras keeps a loss that is added outside of a call"


if __name__ == "__main__":
    print(json.dumps(list(wrong())))
