"""Two layers of LSTM that forecast a series, in JAX with Flax NNX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

HORIZON = 4


def uniform(width: int) -> jax.nn.initializers.Initializer:
    """Return what all weights start with in PyTorch and Paddle."""
    bound = width**-0.5

    def draw(key: jax.Array, shape: tuple[int, ...], dtype: jnp.dtype = jnp.float32) -> jax.Array:
        return jax.random.uniform(key, shape, dtype, -bound, bound)

    return draw


def lstm(inputs: int, width: int, rngs: nnx.Rngs) -> nnx.RNN:
    """Return a layer that makes all states, [rows, steps, width], of a series."""
    draw = uniform(width)
    cell = nnx.OptimizedLSTMCell(
        inputs, width, kernel_init=draw, recurrent_kernel_init=draw, bias_init=draw, rngs=rngs
    )
    return nnx.RNN(cell)


class Forecaster(nnx.Module):
    """The state after the last value, read by a dense layer.

    Args:
        width: size of the state.
        rngs: random numbers for the weights.
    """

    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        self.lstm_0 = lstm(1, width, rngs)
        self.lstm_1 = lstm(width, width, rngs)
        draw = uniform(width)
        self.head = nnx.Linear(width, HORIZON, kernel_init=draw, bias_init=draw, rngs=rngs)

    def __call__(self, past: jax.Array) -> jax.Array:
        """Return the next values, [rows, HORIZON], of series [rows, steps, 1]."""
        states = self.lstm_1(self.lstm_0(past))
        return self.head(states[:, -1])


def build_model(rngs: nnx.Rngs) -> Forecaster:
    """A model with 50 thousand weights."""
    return Forecaster(width=64, rngs=rngs)


def build_tiny(rngs: nnx.Rngs) -> Forecaster:
    """A model of the same kind that trains in seconds."""
    return Forecaster(width=16, rngs=rngs)


def absolute_errors(model: nnx.Module, batch: dict[str, jax.Array]) -> jax.Array:
    """A metric: the mean absolute error of every row."""
    return jnp.abs(model(past=batch["past"]) - batch["future"]).mean(-1)
