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
NAMES = PublicNames(
    file=Path(__file__).with_name("index.json.xz"),
    signatures={
        f"{package}.{name}": _MODEL
        for package in ("keras", "tensorflow.keras")
        for name in ("Model", "models.Model")
    },
)
WITH_TF_KERAS = PublicNames(file=Path(__file__).with_name("with_tf_keras.json.xz"))
"""With `TF_USE_LEGACY_KERAS`, which decides what `tf.keras` is and whether `tf.layers` exists."""
