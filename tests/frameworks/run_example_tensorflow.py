"""Runs the Keras model of an example problem; see `example_job`."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from frameworks.example_job import Arrays, run


class TensorFlow:
    name = "tensorflow"

    def seed(self, number: int) -> None:
        keras.utils.set_random_seed(number)

    def weights(self, model: Any) -> Arrays:
        return {variable.path: variable.numpy() for variable in model.weights}

    def set_weights(self, model: Any, arrays: Arrays) -> None:
        variables = {variable.path: variable for variable in model.weights}
        assert variables.keys() == arrays.keys()
        for path, variable in variables.items():
            variable.assign(arrays[path])

    def outputs(self, model: Any, rows: Arrays) -> np.ndarray:
        array: np.ndarray = model(rows, training=False).numpy()
        return array

    def gradients(
        self, model: Any, rows: Arrays, direction: np.ndarray, training: bool
    ) -> tuple[np.ndarray, Arrays]:
        variables = model.trainable_variables
        with tf.GradientTape() as tape:
            outputs = model(rows, training=training)
            loss = tf.reduce_sum(outputs * direction)
        found = tape.gradient(loss, [variable.value for variable in variables])
        gradients = {
            variable.path: tf.convert_to_tensor(gradient).numpy()
            for variable, gradient in zip(variables, found, strict=True)
        }
        return outputs.numpy(), gradients


if __name__ == "__main__":
    run(TensorFlow())
