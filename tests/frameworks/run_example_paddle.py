"""Runs the Paddle model of an example problem; see `example_job`."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle

from frameworks.example_job import Arrays, run


class Paddle:
    name = "paddle"

    def seed(self, number: int) -> None:
        paddle.seed(number)

    def weights(self, model: Any) -> Arrays:
        return {name: t.numpy() for name, t in model.state_dict().items()}

    def set_weights(self, model: Any, arrays: Arrays) -> None:
        missing, unexpected = model.set_state_dict(arrays)
        assert not missing, missing
        assert not unexpected, unexpected

    def outputs(self, model: Any, rows: Arrays) -> np.ndarray:
        model.eval()
        with paddle.no_grad():
            array: np.ndarray = model(**tensors(rows)).numpy()
        return array

    def gradients(
        self, model: Any, rows: Arrays, direction: np.ndarray, training: bool
    ) -> tuple[np.ndarray, Arrays]:
        model.train() if training else model.eval()
        outputs = model(**tensors(rows))
        (outputs * paddle.to_tensor(direction)).sum().backward()
        named = model.state_dict().items()
        gradients = {name: t.grad.numpy() for name, t in named if t.grad is not None}
        return outputs.numpy(), gradients


def tensors(rows: Arrays) -> dict[str, Any]:
    return {name: paddle.to_tensor(array) for name, array in rows.items()}


if __name__ == "__main__":
    run(Paddle())
