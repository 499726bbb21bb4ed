"""One micro-batch of an emitted Paddle model; see `run_recomputation`."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
from paddle.framework import core

from frameworks.run_model_paddle import inputs

METHOD = "forward"


def allocated() -> int:
    return int(core.host_memory_stat_current_value("Allocated", 0))


def train(
    model: Any, parameters: dict[str, Any], batch: Any, dtype: str, calls: list[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    assert dtype == "float32"
    model.train()
    paddle.seed(5)
    tensors, labels = inputs(batch), paddle.to_tensor(batch["labels"])
    start = allocated()
    loss = paddle.nn.functional.cross_entropy(model(*tensors), labels)
    kept, before = allocated() - start, len(calls)
    loss.backward()
    found = {"loss": float(loss), "kept": kept, "calls": [before, len(calls) - before]}
    return found, {name: parameter.grad.numpy() for name, parameter in parameters.items()}
