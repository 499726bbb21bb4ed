"""Print the rows of the table of `keras.backend` that do not hold in the installed Keras."""

from __future__ import annotations

import json

import keras
import tensorflow as tf

from crosscast_tensorflow.migration.experimental.keras_names.backend import KEPT, OLD


def wrong() -> list[str]:
    """Return what is not as the table says."""
    here, there = keras.backend, tf.keras.backend
    return [
        *(f"{name} is gone" for name in KEPT if not hasattr(here, name)),
        *(f"{name} is in keras.backend" for name in OLD if hasattr(here, name)),
        *(f"{name} is not in tf.keras.backend" for name in KEPT | OLD if not hasattr(there, name)),
        *(f"{name} is new" for name in dir(there) if name[0] != "_" and name not in KEPT | OLD),
    ]


if __name__ == "__main__":
    print(json.dumps(wrong()))
