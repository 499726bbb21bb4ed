"""Runs the PyTorch model of an example problem; see `example_job`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from frameworks.example_job import Arrays, run


class Torch:
    name = "torch"

    def seed(self, number: int) -> None:
        torch.manual_seed(number)

    def weights(self, model: Any) -> Arrays:
        return {name: t.detach().numpy().copy() for name, t in model.state_dict().items()}

    def set_weights(self, model: Any, arrays: Arrays) -> None:
        model.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()})

    def outputs(self, model: Any, rows: Arrays) -> np.ndarray:
        with torch.no_grad():
            array: np.ndarray = model.eval()(**tensors(rows)).numpy()
        return array

    def gradients(
        self, model: Any, rows: Arrays, direction: np.ndarray, training: bool
    ) -> tuple[np.ndarray, Arrays]:
        outputs = model.train(training)(**tensors(rows))
        (outputs * torch.tensor(direction)).sum().backward()
        named = model.named_parameters()
        gradients = {name: p.grad.numpy() for name, p in named if p.grad is not None}
        return outputs.detach().numpy(), gradients


def tensors(rows: Arrays) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(array) for name, array in rows.items()}


if __name__ == "__main__":
    run(Torch())
