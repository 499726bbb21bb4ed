"""Two layers of LSTM that forecast a series, in Keras 3."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

HORIZON = 4


def uniform(width: int) -> keras.Initializer:
    """Return what all weights start with in PyTorch and Paddle.

    Each weight needs its own: an initializer draws the same numbers whenever it is called.
    """
    bound = width**-0.5
    return keras.initializers.RandomUniform(-bound, bound)


def lstm(width: int, name: str, return_sequences: bool) -> layers.LSTM:
    """Return a layer whose weights start as in PyTorch and Paddle."""
    return layers.LSTM(
        width,
        return_sequences=return_sequences,
        kernel_initializer=uniform(width),
        recurrent_initializer=uniform(width),
        bias_initializer=uniform(width),
        unit_forget_bias=False,  # it would start at 1
        name=name,
    )


def forecaster(width: int) -> keras.Model:
    """The state after the last value, read by a dense layer.

    Args:
        width: size of the state.

    Returns:
        A model that makes the next values, [rows, HORIZON], of {"past": [rows, steps, 1]}.
    """
    past = keras.Input((None, 1), name="past")
    states = lstm(width, "lstm_0", return_sequences=True)(past)
    last = lstm(width, "lstm_1", return_sequences=False)(states)
    head = layers.Dense(
        HORIZON,
        kernel_initializer=uniform(width),
        bias_initializer=uniform(width),
        name="head",
    )
    return keras.Model({"past": past}, head(last), name="forecaster")


def build_model() -> keras.Model:
    """A model with 50 thousand weights."""
    return forecaster(width=64)


def build_tiny() -> keras.Model:
    """A model of the same kind that trains in seconds."""
    return forecaster(width=16)


def absolute_errors(model: keras.Model, batch: dict[str, Any]) -> Any:
    """A metric: the mean absolute error of every row."""
    forecast = ops.cast(model({"past": batch["past"]}), "float32")
    errors = forecast - batch["future"]
    return ops.mean(ops.abs(errors), axis=-1)
