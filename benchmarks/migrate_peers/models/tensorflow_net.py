"""The inputs' model in Keras, as the user of a migrated script writes it."""

import keras
import numpy as np
from start import weights


@keras.saving.register_keras_serializable()
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        first, second = (keras.initializers.Constant(weight) for weight in weights())
        self.hidden = keras.layers.Dense(
            32, activation="tanh", kernel_initializer=first, name="hidden"
        )
        self.head = keras.layers.Dense(4, kernel_initializer=second, name="head")

    def call(self, inputs, training=False):
        return self.head(self.hidden(inputs["x"]))


def build_model():
    model = Net()
    model({"x": np.zeros((1, 16), "float32")})  # builds its weights
    return model
