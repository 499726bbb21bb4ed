"""The public names of TensorFlow and Keras, as `make index` finds them in the installed release."""

from __future__ import annotations

from pathlib import Path

from crosscast_migrate.binding.index import PublicNames

_MODEL = (
    "inputs outputs name= **kwargs",
    "* activity_regularizer= autocast= dtype= name= trainable=",
)
"""It hands its arguments to one of two constructors: of a functional model, which ignores others,
or of a layer, which refuses them."""
_CLASSES = tuple(
    f"{package}.{name}"
    for package in ("keras", "tensorflow.keras")
    for name in ("Model", "models.Model")
)
_OF_FUNCTIONAL = (
    *("input", "inputs", "input_shape", "operations"),
    *("output", "outputs", "output_shape", "output_names"),
)
NAMES = PublicNames(
    file=Path(__file__).with_name("index.json.xz"),
    past=Path(__file__).with_name("past.json.xz"),
    added=frozenset(f"{name}.{attribute}" for name in _CLASSES for attribute in _OF_FUNCTIONAL),
    signatures=dict.fromkeys(_CLASSES, _MODEL),
)
WITH_TF_KERAS = PublicNames(
    file=Path(__file__).with_name("with_tf_keras.json.xz"),
    past=Path(__file__).with_name("past.json.xz"),
)
"""With `TF_USE_LEGACY_KERAS`, which decides what `tf.keras` is and whether `tf.layers` exists."""
