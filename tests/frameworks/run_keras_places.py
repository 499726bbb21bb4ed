"""Tries in the installed Keras what the named places say of it; prints what is wrong."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

from crosscast_tensorflow.migration.experimental.keras_names.places import PRIVATE

warnings.simplefilter("ignore")
K: Any = tf.keras
FOLDER = tempfile.mkdtemp()
ROWS, LABELS = np.ones((4, 3), np.float32), np.ones((4, 1), np.float32)


def net(*, compiled: bool = True) -> Any:
    model = K.Sequential([K.Input((3,)), K.layers.Dense(2), K.layers.Dense(1)])
    if compiled:
        model.compile("sgd", "mse", metrics=["mae"])
    return model


def fails(made: Callable[[], Any]) -> bool:
    try:
        made()
    except (TypeError, ValueError, AttributeError, NotImplementedError):
        return True
    return False


def fit(*callbacks: Any) -> Callable[[], Any]:
    return lambda: net().fit(ROWS, LABELS, verbose=0, callbacks=[*callbacks])


def lists() -> Iterator[Any]:
    while True:
        yield [ROWS, LABELS]


def tuples() -> Iterator[Any]:
    while True:
        yield ROWS, LABELS


def compiled_again() -> None:
    model, optimizer = net(), K.optimizers.Adam()
    model.layers[0].trainable = False
    for trainable in (False, True):
        model.layers[0].trainable = trainable
        model.compile(optimizer, "mse")
        model.fit(ROWS, LABELS, verbose=0)


def applied_again() -> None:
    optimizer = K.optimizers.SGD(0.1)
    for variable in (tf.Variable(1.0), tf.Variable(2.0)):
        optimizer.apply_gradients([(variable * 1.0, variable)])


def shared_metrics() -> None:
    inputs = K.Input((3,))
    model = K.Model(inputs, [K.layers.Dense(1)(inputs), K.layers.Dense(1)(inputs)])
    model.compile("sgd", ["mse", "mse"], metrics=["mae"])
    model.fit(ROWS, [LABELS, LABELS], verbose=0)


def old_model(name: str) -> str:
    model = tf_keras.Sequential([tf_keras.Input((3,)), tf_keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    path = f"{FOLDER}/{name}"
    model.save(path)
    return path


def failing() -> dict[str, Callable[[], Any]]:
    """What a place says that Keras 3 rejects."""
    inputs, layer = K.Input((3,)), K.layers.Dropout(0.5)
    named = {
        f"{method} in {end}": (
            lambda method=method, end=end: getattr(net(), method)(f"{FOLDER}/a{end}")
        )
        for method, ends in (
            ("save_weights", (".h5", ".hdf5", ".keras", ".ckpt", "")),
            ("load_weights", (".ckpt", "")),
            ("save", (".ckpt", "")),
        )
        for end in ends
    }
    return {
        **named,
        "a list from a generator": lambda: net().fit(lists(), steps_per_epoch=1, verbose=0),
        "an optimizer compiled twice": compiled_again,
        "an optimizer for two lists": applied_again,
        "one list of metrics": shared_metrics,
        "ModelCheckpoint in .hdf5": lambda: K.callbacks.ModelCheckpoint(f"{FOLDER}/a.hdf5"),
        "ModelCheckpoint of weights in .h5": lambda: K.callbacks.ModelCheckpoint(
            f"{FOLDER}/a.h5", save_weights_only=True
        ),
        "load_model of an old file": lambda: K.models.load_model(old_model("a.h5")),
        "EarlyStopping of an unknown name": fit(K.callbacks.EarlyStopping("val_iou")),
        "ReduceLROnPlateau of an unknown name": fit(K.callbacks.ReduceLROnPlateau("val_iou")),
        "a tensor of a schedule": fit(
            K.callbacks.LearningRateScheduler(lambda epoch: tf.constant(0.1))
        ),
        "set_value": lambda: K.backend.set_value(net().optimizer.learning_rate, 0.2),
        "a switch by its place": lambda: layer(ROWS, True),
        "np.prod for Dense": lambda: K.layers.Dense(np.prod((2, 3))),
        "a list of axes": lambda: K.layers.BatchNormalization(axis=[1])(inputs),
        "no pool_size": lambda: K.layers.AveragePooling2D(),
        "add_loss outside": lambda: net().add_loss(1.0),
        "add_metric": lambda: net().add_metric(1.0, name="a"),
        "a name for add_weight": lambda: K.layers.Layer().add_weight("w", (2,)),
        "set_global_policy(None)": lambda: K.mixed_precision.set_global_policy(None),
        "tf.concat of an input": lambda: tf.concat([inputs, inputs], -1),
        "K.sum of an input": lambda: K.backend.sum(inputs),
        "get_shape of an input": lambda: inputs.get_shape(),
        "as_list of a shape": lambda: inputs.shape.as_list(),
        "minimize": lambda: K.optimizers.SGD().minimize,
        "huber_loss": lambda: K.losses.get("huber_loss"),
        "logcosh": lambda: K.losses.get("logcosh"),
        "iterations": lambda: setattr(K.optimizers.SGD(), "iterations", 3),
        "a dtype for first states": lambda: K.layers.GRUCell(2).get_initial_state(None, 4, "half"),
    }


def working() -> dict[str, Callable[[], Any]]:
    """What no place is named for."""
    inputs = K.Input((3,))
    return {
        "tuples from a generator": lambda: net().fit(tuples(), steps_per_epoch=1, verbose=0),
        "EarlyStopping of the loss": fit(K.callbacks.EarlyStopping("val_loss")),
        "EarlyStopping of a metric": fit(K.callbacks.EarlyStopping("val_mae")),
        "ReduceLROnPlateau with a mode": fit(K.callbacks.ReduceLROnPlateau("val_iou", mode="max")),
        "save_weights": lambda: net().save_weights(f"{FOLDER}/a.weights.h5"),
        "save": lambda: [net().save(f"{FOLDER}/b{end}") for end in (".keras", ".h5", ".hdf5")],
        "load_model": lambda: K.models.load_model(old_model("b.h5"), compile=False),
        "tf.concat in a Lambda": lambda: K.layers.Lambda(lambda x: tf.concat([x, x], -1))(inputs),
        "int_shape": lambda: K.backend.int_shape(inputs),
        "shape for add_weight": lambda: K.layers.Layer().add_weight((2,), "zeros", name="w"),
        "get_value": lambda: K.backend.get_value(net().optimizer.learning_rate),
    }


def values() -> Iterator[str]:
    """What has other values, or is there."""
    layer = K.layers.Dense(2)
    for name in PRIVATE:
        if hasattr(net(), name) or hasattr(layer, name) or hasattr(K.Input((3,)), name):
            yield f"{name} is there"
    if {v.name for v in net().trainable_weights} != {"kernel", "bias"}:
        yield "names of weights"
    if K.utils.to_categorical([1], 2).dtype != np.float64:
        yield "to_categorical"
    if float(K.activations.hard_sigmoid(tf.constant(1.0))) == 0.7:
        yield "hard_sigmoid"
    if K.regularizers.l1_l2().l1:
        yield "l1_l2"
    K.mixed_precision.set_global_policy("float64")
    K.backend.clear_session()
    if K.mixed_precision.global_policy().name != "float32":
        yield "clear_session"
    history = fit(K.callbacks.LearningRateScheduler(lambda epoch: 0.1))().history
    if "lr" in history or "learning_rate" not in history:
        yield "logs of the rate"
    if net().compiled_loss is None:
        yield "compiled_loss"


if __name__ == "__main__":
    wrong = [f"{name} works" for name, made in failing().items() if not fails(made)]
    wrong += [f"{name} fails" for name, made in working().items() if fails(made)]
    print(json.dumps([*wrong, *values()]))
