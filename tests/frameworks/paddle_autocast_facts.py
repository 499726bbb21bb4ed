"""Types of operations under `auto_cast`, by Paddle and by the emulation: prints JSON.

`paddle_autocast_facts.py graph|emulated`. Paddle itself decides while it builds a program of its
intermediate representation, where operations have types and no kernels are needed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import paddle
from paddle.nn import functional as F

HALF = "bfloat16"
"""Programs for a CPU refuse float16."""
DENSE = ("matmul_v2", "linear_v2")
"""What a dense layer is on a CPU and on a GPU."""
SETTINGS: dict[str, dict[str, Any]] = {
    "O1": {},
    "black name of no operation": {"custom_black_list": {"matmul"}},
    "black": {"custom_black_list": {*DENSE, "elementwise_add", "gelu"}},
    "white": {"custom_white_list": {"softmax", "layer_norm", "reduce_mean", "elementwise_add"}},
    "outside of every class": {"custom_black_list": {"concat", "hard_sigmoid"}},
    "both": {"custom_white_list": {"reduce_sum"}, "custom_black_list": {"tanh"}},
    "O2": {"level": "O2"},
    "O2, black": {"level": "O2", "custom_black_list": {"softmax", "gelu", *DENSE}},
    "O2, no promotion": {"level": "O2", "use_promote": False},
    "OD": {"level": "OD"},
    "off": {"enable": False},
}
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": lambda x, h: paddle.matmul(x, x),
    "dense layer": lambda x, h: F.linear(x, x),
    "softmax": lambda x, h: F.softmax(h),
    "log_softmax": lambda x, h: F.log_softmax(h),
    "gelu": lambda x, h: F.gelu(h),
    "tanh": lambda x, h: paddle.tanh(h),
    "relu": lambda x, h: F.relu(h),
    "hardsigmoid": lambda x, h: F.hardsigmoid(h),
    "half + half": lambda x, h: h + h,
    "half + float32": lambda x, h: h + x,
    "float32 + float32": lambda x, h: paddle.add(x, x),
    "half * half": lambda x, h: paddle.multiply(h, h),
    "sum": lambda x, h: h.sum(),
    "mean": lambda x, h: h.mean(),
    "mean of float32": lambda x, h: x.mean(),
    "layer_norm": lambda x, h: F.layer_norm(h, [4], weight=x[0], bias=x[0]),
    "layer_norm of float32": lambda x, h: F.layer_norm(x, [4]),
    "exp": lambda x, h: paddle.exp(h),
    "square root": lambda x, h: paddle.sqrt(h),
    "embedding": lambda x, h: F.embedding(paddle.zeros([4], "int64"), x),
    "concat": lambda x, h: paddle.concat([h, h]),
}


def types(x: Any, h: Any, settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, operation in OPERATIONS.items():
        with paddle.amp.auto_cast(**{"dtype": HALF, **settings}):
            try:
                found = str(operation(x, h).dtype).removeprefix("paddle.")
            except (TypeError, RuntimeError, NotImplementedError):
                continue  # an operation that this machine has in float32 alone
        yield name, found


def in_graphs() -> dict[str, dict[str, str]]:
    paddle.enable_static()
    found = {}
    for name, settings in SETTINGS.items():
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            x = paddle.static.data("x", [4, 4], "float32")
            h = paddle.static.data("h", [4, 4], HALF)
            found[name] = dict(types(x, h, settings))
    return found


def emulated() -> dict[str, dict[str, str]]:
    from crosscast_parity.inside.emulate import install

    install("crosscast_paddle.inside")
    x = paddle.ones([4, 4])
    h = x.astype(HALF)
    found = {}
    for name, settings in SETTINGS.items():
        found[name] = dict(types(x, h, settings))
        with paddle.amp.auto_cast(dtype=HALF):  # nested, and what was around it afterwards
            inner = dict(types(x, h, settings))
            assert inner == found[name], name
            assert str(paddle.matmul(x, x).dtype) == f"paddle.{HALF}"
    return found


if __name__ == "__main__":
    print(json.dumps({"graph": in_graphs, "emulated": emulated}[sys.argv[1]]()))
