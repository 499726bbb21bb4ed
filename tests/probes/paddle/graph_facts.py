"""What decorated optimizers do in static programs of Paddle 3, as JSON."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle

IMAGES = np.ones([2, 4], "float32")


def said(build: Callable[[], object]) -> str:
    """Return what kind of error something ends with, and its text; empty if it does not fail."""
    try:
        build()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def train(minimize: Callable[[Any], object]) -> dict[str, Any]:
    """Return the weight after one step, and whether the program has any half in it."""
    program, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(program, startup):
        images = paddle.static.data("images", [2, 4], "float32")
        constant = paddle.nn.initializer.Constant(1.0)
        layer = paddle.nn.Linear(4, 1, weight_attr=constant, bias_attr=False)
        minimize(paddle.mean(layer(images)))
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(startup)
    executor.run(program, feed={"images": IMAGES})
    weight = executor.run(program, feed={"images": IMAGES}, fetch_list=[layer.weight])[0]
    return {"weight": float(weight[0][0]), "half": "f16" in str(program)}


def sgd(**settings: Any) -> Any:
    return paddle.static.amp.decorate(paddle.optimizer.SGD(0.25), **settings)


def scaled(loss: Any, *, dynamic: bool) -> None:
    """Let a GradScaler minimize under a float16 auto_cast that casts nothing."""
    with paddle.amp.auto_cast(dtype="float16"):
        pass
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, use_dynamic_loss_scaling=dynamic)
    optimizer = sgd(level="O1", dtype="float16", master_weight=False)
    scaler.minimize(optimizer, scaler.scale(loss))


def main() -> None:
    """Print the facts."""
    warnings.simplefilter("ignore")
    paddle.enable_static()
    eight = dict.fromkeys(("incr_every_n_steps", "decr_every_n_nan_or_inf"), 2)
    facts = {
        "plain": train(lambda loss: paddle.optimizer.SGD(0.25).minimize(loss)),
        "dynamic": said(lambda: train(lambda loss: sgd(init_loss_scaling=8.0).minimize(loss))),
        "one": train(
            lambda loss: sgd(init_loss_scaling=1.0, use_dynamic_loss_scaling=False).minimize(loss)
        ),
        "scaler": train(lambda loss: scaled(loss, dynamic=True)),
        "constant scaler": train(lambda loss: scaled(loss, dynamic=False)),
        "eight arguments": said(
            lambda: sgd(
                init_loss_scaling=8.0,
                incr_ratio=2.0,
                decr_ratio=0.8,
                use_dynamic_loss_scaling=True,
                use_pure_fp16=False,
                **eight,
            )
        ),
        "seven arguments": said(
            lambda: sgd(init_loss_scaling=8.0, incr_ratio=2.0, decr_ratio=0.8, use_pure_fp16=False)
        ),
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
