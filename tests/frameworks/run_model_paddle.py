"""Runs emitted Paddle models; see `model_job`."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import paddle
from paddle.nn import functional as F

from frameworks.model_job import Arrays, run

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Paddle:
    name = "paddle"
    halves: tuple[str, ...] = ()  # Paddle has no half kernels on CPUs,
    typed: tuple[str, ...] = ("bfloat16",)  # and its programs for CPUs know no float16 matmul

    def seed(self, number: int) -> None:
        paddle.seed(number)

    def build(self, module: ModuleType, dtype: str) -> Any:
        return module.build_model()

    def read(self, parameter: Any) -> np.ndarray:
        array: np.ndarray = parameter.numpy()
        return array

    def write(self, parameter: Any, array: np.ndarray) -> None:
        parameter.set_value(array)

    def logits(self, model: Any, batch: Arrays, *, training: bool) -> np.ndarray:
        model.train() if training else model.eval()
        array: np.ndarray = model(*inputs(batch)).numpy()
        return array

    def gradients(
        self, model: Any, parameters: dict[str, Any], batch: Arrays, dtype: str
    ) -> tuple[np.ndarray, float, Arrays]:
        model.eval()
        model.clear_gradients()
        logits = model(*inputs(batch))
        loss = F.cross_entropy(logits, paddle.to_tensor(batch["labels"]))
        loss.backward()
        gradients = {name: p.grad.numpy() for name, p in parameters.items()}
        return logits.numpy(), float(loss), gradients

    def types(self, model: Any, batch: Arrays, dtype: str) -> dict[str, set[str]]:
        """Build, without running it, the static program of the model under auto_cast."""
        paddle.enable_static()
        try:
            return record(type(model), dtype)
        finally:
            paddle.disable_static()


def inputs(batch: Arrays) -> list[Any]:
    return [paddle.to_tensor(batch[name]) for name in INPUTS]


def record(model_class: Any, dtype: str) -> dict[str, set[str]]:
    program = paddle.static.Program()
    found: dict[str, set[str]] = defaultdict(set)
    with paddle.static.program_guard(program, paddle.static.Program()):
        model = model_class()
        tensors = [paddle.static.data(name, [2, 8], "int32") for name in INPUTS]
        for layer in model.bert.encoder["layer"]:
            layer.register_forward_pre_hook(lambda _, args: found["stream"].add(type_of(args[0])))
        with paddle.amp.auto_cast(enable=dtype != "float32", level="O1", dtype="bfloat16"):
            model(*tensors)
    for op in program.global_block().ops:
        found[op.name().removeprefix("pd_op.")].add(type_of(op.result(0)))
    return found


def type_of(value: Any) -> str:
    return str(value.dtype).rsplit(".", maxsplit=1)[-1].lower()


if __name__ == "__main__":
    run(Paddle(), Path(sys.argv[1]))
