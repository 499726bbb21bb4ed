"""Which half kernels Paddle has on CPU; prints JSON. Why its half precision must be emulated."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
from paddle.nn import functional as F

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "matmul": lambda x: paddle.matmul(x, x),
    "linear": lambda x: F.linear(x, x),
    "add": lambda x: x + x,
    "softmax": F.softmax,
    "gelu": F.gelu,
    "layer_norm": lambda x: F.layer_norm(x, [2]),
    "reshape": lambda x: x.reshape([4]),
    "transpose": lambda x: x.transpose([1, 0]),
    "cast": lambda x: x.astype("float32"),
}


def works(operation: Callable[[Any], Any], dtype: str) -> bool:
    x = paddle.ones([2, 2]).astype(dtype)
    try:
        operation(x).astype("float32").numpy()
    except RuntimeError as error:
        if "kernel" not in str(error):
            raise
        return False
    return True


def cast_gradient(pull: float) -> float:
    """The gradient that comes back through a cast to float16 and another to float32."""
    x = paddle.to_tensor(np.ones(1, "float32"), stop_gradient=False)
    (x.astype("float16").astype("float32") * pull).sum().backward()
    return float(x.grad.numpy()[0])


def cast(number: float) -> float:
    """A number in float16, forward."""
    return float(paddle.to_tensor([number], "float32").astype("float16").numpy()[0])


def stored() -> dict[str, list[str]]:
    """The types that layers return for half, in a program that is not run.

    Those for CPUs know no matmul of float16.
    """
    paddle.enable_static()
    program = paddle.static.Program()
    with paddle.static.program_guard(program, paddle.static.Program()):
        shapes = {"x": [2, 4], "kernel": [4, 4], "vector": [4]}
        x, kernel, vector = (paddle.static.data(n, s, "bfloat16") for n, s in shapes.items())
        F.linear(x, kernel, vector)
        F.layer_norm(x, 4, vector, vector)
        F.dropout(F.gelu(x), 0.1)
        F.softmax(paddle.tanh(x) + x)
    paddle.disable_static()
    operations = program.global_block().ops
    return {
        operation.name().removeprefix("pd_op."): [
            str(result.dtype).removeprefix("paddle.") for result in operation.results()
        ]
        for operation in operations
    }


def facts() -> dict[str, Any]:
    return {
        "kernels": {
            dtype: {name: works(operation, dtype) for name, operation in OPERATIONS.items()}
            for dtype in ("float16", "bfloat16")
        },
        "gradients": {text: repr(cast_gradient(float(text))) for text in ("1e5", "1e-8", "2049")},
        "tiny": {text: cast(float(text)) for text in ("1e-29", "2e-27", "-3e-24", "1e-22")},
        "tiny_gradient": cast_gradient(3e-24),
        "stored": stored(),
        "wrappers": hasattr(paddle._C_ops, "linear") and hasattr(paddle._C_ops, "matmul"),
    }


if __name__ == "__main__":
    print(json.dumps(facts()))
