"""Reads defaults of the installed Paddle: `read_defaults.py QUESTIONS`, JSON in and out."""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from typing import Any

import paddle

# isort: split
from crosscast_paddle.inside.on_cpu import enable_scaler
from probes.signatures import read

INF = float("inf")


def overload(key: Any) -> Any:
    """Return the reader for one of the overloads of static.amp.decorate."""

    def arguments() -> Any:
        from paddle.static.amp.function_overload import FunctionType, Namespace

        function = Namespace.get_instance().function_map[FunctionType[key]]
        parameters = inspect.signature(getattr(function, "fn", function)).parameters
        return {name: parameter.default for name, parameter in parameters.items()}

    return arguments


def strategy(name: Any) -> Any:
    def keys() -> Any:
        from paddle.distributed import fleet

        rounded = getattr(fleet.DistributedStrategy(), name)
        return {
            key: round(value, 6) if isinstance(value, float) else value
            for key, value in rounded.items()
        }

    return keys


def always_adapt() -> Any:
    parameters = inspect.signature(paddle.optimizer.Lamb).parameters
    return {"always_adapt": parameters["always_adapt"].default}


def scales(kind: Any, initial: Any, gradients: Any) -> Any:
    enable_scaler()
    weight = paddle.create_parameter([1], "float32")
    optimizer = paddle.optimizer.SGD(0.0, parameters=[weight])
    scaler = kind(init_loss_scaling=initial, incr_every_n_steps=1)
    found = []
    for gradient in gradients:
        with paddle.amp.auto_cast(dtype="float16"):
            pass
        scaled = scaler.scale((weight * gradient).sum())
        scaled.backward()
        scaler.minimize(optimizer, scaled)
        optimizer.clear_grad()
        found.append(float(scaler.state_dict()["scale"][0]))
    return found


def dygraph_machine(name: Any) -> Any:
    """Return the reader for a scaler of dynamic graphs."""

    def bounds() -> Any:
        kind = getattr(paddle.amp, name)
        highest = scales(kind, 2.0**126, [0.0] * 3)[-1]
        return {
            "loss_scaling.min_scale": scales(kind, 2.0**-148, [INF] * 3)[-1] or None,
            "loss_scaling.max_scale": None if highest == INF else highest,
        }

    return bounds


def kernel_floor() -> Any:
    """Let the kernel of static programs meet overflows at scale 1.5."""
    scale, lowest = paddle.to_tensor([1.5]), []
    good, bad = paddle.to_tensor([0], "int32"), paddle.to_tensor([0], "int32")
    overflow, gradient = paddle.to_tensor([True]), paddle.to_tensor([INF])
    for _ in range(2):
        paddle._C_ops.update_loss_scaling_(
            [gradient], overflow, scale, good, bad, 1000, 1, 2.0, 0.5, False
        )
        lowest.append(float(scale.numpy()[0]))
    return {"loss_scaling.min_scale": min(lowest)}


def eps_placement() -> Any:
    weight = paddle.create_parameter(
        [1], "float32", default_initializer=paddle.nn.initializer.Constant(0.0)
    )
    optimizer = paddle.optimizer.Adam(1.0, epsilon=1e-3, parameters=[weight])
    (weight * 1e-3).sum().backward()
    optimizer.step()
    near = abs(float(weight.numpy()[0]) + 0.5) < 1e-3
    return {"optimizer.eps_placement": "after_correction" if near else "before_correction"}


def clip_function() -> Any:
    weight = paddle.create_parameter([1], "float32")
    (weight * 1e-5).sum().backward()
    paddle.nn.utils.clip_grad_norm_([weight], 1e-5)
    return {"clipping.eps": round(1e-10 / float(weight.grad.numpy()[0]) - 1e-5, 9)}


def clip_class() -> Any:
    weight = paddle.create_parameter([1], "float32")
    (weight * 1e-5).sum().backward()
    ((_, clipped),) = paddle.nn.ClipGradByGlobalNorm(1e-5)([(weight, weight.grad)])
    return {"clipping.eps": abs(round(1e-10 / float(clipped.numpy()[0]) - 1e-5, 9))}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    STRATEGY = "paddle.distributed.fleet.DistributedStrategy"
    FORMS = {
        "paddle.static.amp.decorate/COMMON": overload("COMMON"),
        "paddle.static.amp.decorate/FP16_ONLY": overload("FP16_ONLY"),
        f"{STRATEGY}.amp_configs/keys": strategy("amp_configs"),
        f"{STRATEGY}.gradient_merge_configs/keys": strategy("gradient_merge_configs"),
        "paddle.optimizer.Lamb/always_adapt": always_adapt,
    }
    FIXED = {
        "paddle.amp.GradScaler": dygraph_machine("GradScaler"),
        "paddle.amp.AmpScaler": dygraph_machine("AmpScaler"),
        "paddle.static.amp.decorate": kernel_floor,
        f"{STRATEGY}.amp_configs": kernel_floor,
        "paddle.optimizer.Adam": eps_placement,
        "paddle.nn.utils.clip_grad_norm_": clip_function,
        "paddle.nn.ClipGradByGlobalNorm": clip_class,
    }
    print(json.dumps(read(json.loads(sys.argv[1]), FORMS, FIXED)))
