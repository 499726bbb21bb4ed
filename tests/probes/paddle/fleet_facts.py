"""What static graphs of paddle.distributed.fleet do. The first argument names the fact.

A toy: one dense layer of two weights with the gradient of the feed, so that a feed of inf
overflows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import paddle
from paddle.distributed import fleet

NEVER = 2**31 - 1
SCALER = {
    "init_loss_scaling": 4.0,
    "incr_every_n_steps": NEVER,
    "decr_every_n_nan_or_inf": 1,
    "incr_ratio": 2.0,
    "decr_ratio": 0.5,
    "use_dynamic_loss_scaling": True,
}
INF = float("inf")


class Toy:
    """A program whose weight gets the feed as its gradient."""

    def __init__(
        self,
        optimizer: str = "Adam",
        amp: dict[str, Any] | None = None,
        merge: int = 1,
        **more: Any,
    ) -> None:
        paddle.enable_static()
        strategy = fleet.DistributedStrategy()
        if amp is not None:
            strategy.amp, strategy.amp_configs = True, amp
        if merge > 1:
            strategy.gradient_merge = True
            strategy.gradient_merge_configs = {"k_steps": merge, "avg": False}
        fleet.init(is_collective=True, strategy=strategy)
        self.program, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(self.program, startup):
            feed = paddle.static.data("given", [1, 2], "float32")
            weight = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(1.0))
            layer = paddle.nn.Linear(2, 1, weight_attr=weight, bias_attr=False)
            loss = paddle.sum(layer(feed))
            rule = getattr(paddle.optimizer, optimizer)(learning_rate=0.5, **more)
            fleet.distributed_optimizer(rule).minimize(loss, startup)
        self.weight = layer.weight.name
        self.executor = paddle.static.Executor(paddle.CPUPlace())
        self.executor.run(startup)

    def run(self, *feeds: Sequence[float]) -> list[float]:
        """Run the program once for every feed; return the first weight after each."""
        told = []
        for feed in feeds:
            self.executor.run(self.program, feed={"given": np.array([feed], "float32")})
            told.append(self.value(self.weight)[0])
        return told

    def value(self, name: str) -> list[float]:
        """A variable as a flat list."""
        held = paddle.static.global_scope().find_var(name).get_tensor()
        return [float(number) for number in np.array(held).ravel()]


def merge() -> Any:
    toy = Toy("SGD", merge=3)
    return toy.run([1, 0], [2, 0], [3, 0], [1, 0])


def floor() -> Any:
    toy = Toy("SGD", amp=SCALER)
    scales = []
    for _ in range(5):
        toy.run([INF, 0])
        scales += toy.value("loss_scaling_0")
    return scales


def static() -> Any:
    """Weights after a clean and an overflowed step, and the variables that tell of overflows."""
    toy = Toy("Adam", amp=SCALER | {"use_dynamic_loss_scaling": False})
    names = [var.name for var in toy.program.list_vars() if var.name.startswith("num_")]
    return {"weights": toy.run([1, 0], [INF, 0]), "counters": names}


def momentum() -> Any:
    return Toy("Momentum", amp=SCALER, momentum=0.5).run([1, 0], [INF, 0], [INF, 0])


def adam() -> Any:
    toy = Toy("AdamW", amp=SCALER)
    weights = toy.run([1, 0], [INF, 0], [INF, 0])
    return {"weights": weights, "power": toy.value(f"{toy.weight}_beta1_pow_acc_0")}


def clip() -> Any:
    """Step of the first weight with a gradient of norm 2 that is clipped to 1."""
    stock = paddle.nn.ClipGradByGlobalNorm(1.0)
    return 1.0 - Toy("SGD", grad_clip=stock).run([2, 0])[0]


def types(gpu: bool) -> Any:
    """Operations with a half input, as a build with or without a GPU decides."""
    if gpu:
        from paddle.static.amp import fp16_lists

        found = fp16_lists._get_sys_unsupported_list
        fp16_lists._get_sys_unsupported_list = lambda dtype: ("GPU", set(), found(dtype)[2])
    block = Toy("SGD", amp=SCALER | {"custom_black_list": ["reduce_sum"]}).program.global_block()
    half = {
        name
        for name, var in block.vars.items()
        if str(var.type).endswith("LOD_TENSOR") and str(var.dtype).endswith(("FP16", "float16"))
    }
    return sorted({op.type for op in block.ops if set(op.input_arg_names) & half})


FACTS: dict[str, Callable[[], Any]] = {
    "merge": merge,
    "floor": floor,
    "static": static,
    "momentum": momentum,
    "adam": adam,
    "clip": clip,
    "types": lambda: types(gpu=False),
    "types-gpu": lambda: types(gpu=True),
}

if __name__ == "__main__":
    print(json.dumps(FACTS[sys.argv[1]]()))
