"""Two layers of LSTM that forecast a series, in PyTorch."""

from __future__ import annotations

import torch
from torch import nn

HORIZON = 4


class Forecaster(nn.Module):
    """The state after the last value, read by a dense layer.

    Args:
        width: size of the state.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, HORIZON)
        # PyTorch adds two biases, Keras has one. Two that both learn move their sum twice as fast,
        # so the second one stays 0.
        for layer in range(self.lstm.num_layers):
            bias = getattr(self.lstm, f"bias_hh_l{layer}")
            nn.init.zeros_(bias)
            bias.requires_grad_(False)

    def forward(self, past: torch.Tensor) -> torch.Tensor:
        """Return the next values, [rows, HORIZON], of series [rows, steps, 1]."""
        states, _ = self.lstm(past)
        return self.head(states[:, -1])


def build_model() -> Forecaster:
    """A model with 50 thousand weights."""
    return Forecaster(width=64)


def build_tiny() -> Forecaster:
    """A model of the same kind that trains in seconds."""
    return Forecaster(width=16)


def absolute_errors(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """A metric: the mean absolute error of every row."""
    return (model(past=batch["past"]) - batch["future"]).abs().mean(-1)
