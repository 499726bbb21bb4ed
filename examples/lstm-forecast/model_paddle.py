"""Two layers of LSTM that forecast a series, in Paddle."""

from __future__ import annotations

import paddle
from paddle import nn
from paddle.nn import initializer as init

HORIZON = 4


class Forecaster(nn.Layer):
    """The state after the last value, read by a dense layer.

    Args:
        width: size of the state.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        # Paddle adds two biases, Keras has one. Two that both learn move their sum twice as fast:
        # so there is one here. nn.LSTM cannot go without; its kernel needs the gradients of both.
        self.lstm_0 = nn.RNN(nn.LSTMCell(1, width, bias_hh_attr=False))
        self.lstm_1 = nn.RNN(nn.LSTMCell(width, width, bias_hh_attr=False))
        # LSTMCell starts as in PyTorch by default; Linear does not.
        bound = width**-0.5
        self.head = nn.Linear(
            width,
            HORIZON,
            weight_attr=init.Uniform(-bound, bound),
            bias_attr=init.Uniform(-bound, bound),
        )

    def forward(self, past: paddle.Tensor) -> paddle.Tensor:
        """Return the next values, [rows, HORIZON], of series [rows, steps, 1]."""
        states, _ = self.lstm_0(past)
        states, _ = self.lstm_1(states)
        return self.head(states[:, -1])


def build_model() -> Forecaster:
    """A model with 50 thousand weights."""
    return Forecaster(width=64)


def build_tiny() -> Forecaster:
    """A model of the same kind that trains in seconds."""
    return Forecaster(width=16)


def absolute_errors(model: nn.Layer, batch: dict[str, paddle.Tensor]) -> paddle.Tensor:
    """A metric: the mean absolute error of every row."""
    return (model(past=batch["past"]) - batch["future"]).abs().mean(-1)
