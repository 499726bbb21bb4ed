"""Prints the operations of a pooled Keras model in float16, traced and eager, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from crosscast_parity.inside.manifest import Recorder
from crosscast_tensorflow.inside.manifest import TensorFlowTap

keras.mixed_precision.set_global_policy("mixed_float16")
images = keras.Input((4, 4, 3))
pooled = keras.layers.GlobalAveragePooling2D()(keras.layers.Conv2D(4, 3)(images))
model = keras.Model(images, keras.layers.Dense(2)(pooled))


def recorded(function: Callable[[Any], Any]) -> list[list[Any]]:
    recorder, tap = Recorder(), TensorFlowTap()
    tap.start(recorder, model)
    function(tf.ones((2, 4, 4, 3)))
    tap.stop()
    order = recorder.sequence()["order"]
    return [[call["name"], call["in"], call["out"]] for call in order if call["name"] != "cast"]


print(json.dumps([recorded(tf.function(model)), recorded(model)]))
