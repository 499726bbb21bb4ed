"""What stock Paddle does, as JSON. Run as a program; the tests beside it read the result."""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import paddle

from crosscast_paddle.inside.on_cpu import enable_scaler

INF = float("inf")


def make_weight(value: float = 1.0) -> Any:
    return paddle.create_parameter(
        [1], "float32", default_initializer=paddle.nn.initializer.Constant(value)
    )


def enter_auto_cast(dtype: str) -> None:
    """Leave the process in the state that an auto_cast of this type leaves behind."""
    with paddle.amp.auto_cast(dtype=dtype):
        pass


def attempt(scaler: Any, weight: Any, optimizer: Any, gradient: float) -> None:
    """One step whose unscaled gradient is given."""
    scaler.scale((weight * gradient).sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()


def scales(gradients: Sequence[float], **settings: Any) -> list[float]:
    """Return the scale after each step of a GradScaler that meets these gradients."""
    weight = make_weight()
    optimizer = paddle.optimizer.SGD(0.0, parameters=[weight])
    scaler = paddle.amp.GradScaler(**settings)
    enter_auto_cast("float16")
    found = []
    for gradient in gradients:
        attempt(scaler, weight, optimizer, gradient)
        found.append(float(scaler.state_dict()["scale"][0]))
    return found


def after_zero_scale() -> dict[str, Any]:
    """Return what a step makes of a finite loss once the scale has fallen to 0."""
    weight = make_weight()
    optimizer = paddle.optimizer.SGD(1.0, parameters=[weight])
    scaler = paddle.amp.GradScaler(init_loss_scaling=1e-45)
    enter_auto_cast("float16")
    for gradient in (INF, 2.0):
        attempt(scaler, weight, optimizer, gradient)
    return {"scale": float(scaler.state_dict()["scale"][0]), "nan": bool(weight.isnan())}


def constant_scaler(**settings: Any) -> dict[str, Any]:
    """Return what a scaler that never adjusts tells of a clean, an overflowed, a clean step."""
    weight = make_weight()
    optimizer = paddle.optimizer.SGD(1.0, parameters=[weight])
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, **settings)
    enter_auto_cast("float16")
    states, weights = [], []
    for gradient in (0.25, INF, 0.25):
        before = scaler.state_dict()
        attempt(scaler, weight, optimizer, gradient)
        after = scaler.state_dict()
        states.append({key: after[key] != before[key] for key in after if key != "scale"})
        states[-1]["overflow"] = after["decr_count"] > 0
        weights.append(weight.item())
    scale = float(scaler.state_dict()["scale"][0])
    return {"states": states, "weights": weights, "scale": scale}


def new_scale() -> list[float]:
    """Return the scale as it is told, as it multiplies, and as it is saved, once set."""
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
    enter_auto_cast("float16")
    scaler.set_init_loss_scaling(3.0)
    scaled = scaler.scale(paddle.ones([])).item()
    saved = float(scaler.state_dict()["scale"][0])
    return [scaler.get_init_loss_scaling(), scaled, saved]


def enabled_after(dtype: str) -> bool:
    """Return whether a scaler is still at work after it scaled behind an auto_cast."""
    scaler = paddle.amp.GradScaler()
    enter_auto_cast(dtype)
    scaler.scale(paddle.ones([]))
    return bool(scaler.is_enable())


def fresh_scaler() -> bool:
    """Return whether a scaler is at work after it scaled before any auto_cast."""
    scaler = paddle.amp.GradScaler()
    scaler.scale(paddle.ones([]))
    return bool(scaler.is_enable())


def scaler_facts() -> dict[str, Any]:
    """GradScaler, with a GPU pretended."""
    enable_scaler()
    never = 2**31 - 1
    return {
        "parameters": list(inspect.signature(paddle.amp.GradScaler.__init__).parameters)[1:],
        "enabled": {"before any": fresh_scaler()}
        | {dtype: enabled_after(dtype) for dtype in ("float16", "bfloat16")},
        "floor": scales([INF] * 12, init_loss_scaling=1e-40, decr_ratio=1e-2),
        "after_zero": after_zero_scale(),
        "ceiling": scales([0.0] * 5, init_loss_scaling=2.0**125, incr_every_n_steps=1),
        "interval": scales([1.0] * 6, init_loss_scaling=1.0, incr_every_n_steps=3),
        "consecutive": scales(
            [INF, 1.0, INF, 1.0, INF, INF], init_loss_scaling=64.0, decr_every_n_nan_or_inf=2
        ),
        "static": constant_scaler(use_dynamic_loss_scaling=False),
        "never": constant_scaler(incr_every_n_steps=never, decr_every_n_nan_or_inf=never),
        "new_scale": new_scale(),
    }


def clipped(norm: float, limit: float) -> dict[str, float]:
    """Return the reported norm and the factor by which a single gradient was multiplied."""
    weight = make_weight()
    (weight * norm).sum().backward()
    total = paddle.nn.utils.clip_grad_norm_([weight], limit)
    return {"norm": total.item(), "factor": weight.grad.item() / norm}


def large_norms(count: int = 2**20) -> dict[str, float]:
    """Relative errors of the norm of a million normal numbers."""
    values = np.random.default_rng(0).standard_normal(count).astype(np.float32)
    exact = float(np.sqrt(np.square(values, dtype=np.float64).sum()))
    weight = paddle.create_parameter([count], "float32")
    (weight * paddle.to_tensor(values)).sum().backward()
    found = {
        "linalg.norm": paddle.linalg.norm(weight.grad, 2),
        "root of the sum": weight.grad.square().sum().sqrt(),
        "clip_grad_norm_": paddle.nn.utils.clip_grad_norm_([weight], 1e9),
    }
    return {name: float(norm) / exact - 1 for name, norm in found.items()}


def clip_facts() -> dict[str, Any]:
    """The clip functions of paddle.nn.utils."""
    weight = paddle.create_parameter([4], "float32")
    (weight * paddle.to_tensor([-3.0, 0.5, INF, float("nan")])).sum().backward()
    paddle.nn.utils.clip_grad_value_([weight], 1.0)
    values = weight.grad.tolist()
    return {
        "large": large_norms(),
        "parameters": list(inspect.signature(paddle.nn.utils.clip_grad_norm_).parameters),
        "above": clipped(5.0, 1.0),
        "at": clipped(1.0, 1.0),
        "below": clipped(0.5, 1.0),
        "tiny": clipped(1e-5, 1e-5),
        "values": values[:3],
        "nan_stays": values[3] != values[3],
    }


def product(dtype: str) -> dict[str, Any]:
    """Return type and warnings of a matmul under auto_cast."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with paddle.amp.auto_cast(dtype=dtype, level="O1"):
            result = paddle.matmul(paddle.ones([2, 2]), paddle.ones([2, 2]))
    half = getattr(paddle, dtype)
    return {
        "half": result.dtype == half,
        "warnings": [str(diagnostic.message) for diagnostic in caught],
    }


def told(scaler: Any) -> float | str:
    """Return the scale a scaler tells, or what is wrong with asking it."""
    try:
        scale: float = scaler.get_init_loss_scaling()
    except AttributeError as error:
        return str(error)
    return scale


def amp_facts() -> dict[str, Any]:
    """auto_cast and GradScaler on CPU as they are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
    return {
        "device": paddle.device.get_device(),
        "products": {dtype: product(dtype) for dtype in ("float16", "bfloat16")},
        "scaler": {
            "enabled": scaler.is_enable(),
            "scaled": scaler.scale(paddle.ones([])).item(),
            "told": told(scaler),
            "state": scaler.state_dict(),
            "warnings": [str(diagnostic.message) for diagnostic in caught],
        },
    }


def decayed(decays: Callable[[str], bool]) -> dict[str, float]:
    """Return weight and bias, both 1 before, after a step of AdamW without gradients."""
    layer = paddle.nn.Linear(1, 1)
    layer.weight.set_value(paddle.ones([1, 1]))
    layer.bias.set_value(paddle.ones([1]))
    optimizer = paddle.optimizer.AdamW(
        0.5, parameters=layer.parameters(), weight_decay=0.1, apply_decay_param_fun=decays
    )
    ((layer.weight.sum() + layer.bias.sum()) * 0.0).backward()
    optimizer.step()
    return {"weight": layer.weight.item(), "bias": layer.bias.item()}


def augmented() -> list[bool]:
    """Return whether `+=` and `*=` leave a variable at the tensor that it was."""
    first = second = start = paddle.ones([1])
    first += 1.0
    second *= 2.0
    return [first is start, second is start]


def with_factor(factor: float) -> float:
    """Return how far a step of rate 0.5 moves a weight that has a rate in `optimize_attr`."""
    weight = make_weight()
    weight.optimize_attr["learning_rate"] = factor
    optimizer = paddle.optimizer.SGD(0.5, parameters=[weight])
    weight.sum().backward()
    optimizer.step()
    return 1.0 - float(weight.item())


def optimizer_facts() -> dict[str, Any]:
    """Weight decay by name, rates of parameters, and the names of the moments."""
    asked: list[str] = []

    def by_attribute(name: str) -> bool:
        asked.append(name)
        return "bias" not in name

    by_name = decayed(by_attribute)
    layer = paddle.nn.Linear(1, 1)
    optimizer = paddle.optimizer.Adam(0.1, beta1=0.9, beta2=0.99, parameters=layer.parameters())
    layer(paddle.ones([1, 1])).sum().backward()
    for _ in range(40):
        optimizer.step()
    held = optimizer.state_dict()
    suffixes = {key.removeprefix(layer.weight.name) for key in held if layer.weight.name in key}
    powers = [held[f"{layer.weight.name}_beta{n}_pow_acc_0"].item() for n in (1, 2)]
    return {
        "asked": asked,
        "by_name": by_name,
        "suffixes": sorted(suffixes),
        "powers": powers,
        "with_factor": with_factor(0.25),
        "kept_by_augment": augmented(),
    }


def loss_facts() -> dict[str, Any]:
    """Cross-entropy of rows that the model gets very wrong."""
    logits = paddle.to_tensor([[0.0, 50.0], [0.0, 70.0], [0.0, 300.0]], stop_gradient=False)
    labels = paddle.zeros([3], "int64")
    losses = paddle.nn.functional.cross_entropy(logits, labels, reduction="none")
    losses.sum().backward()
    return {"losses": losses.flatten().tolist(), "gradient": logits.grad.tolist()}


def array_facts() -> dict[str, Any]:
    """Types that NumPy arrays of one number become, by their own; None for those not taken."""
    found: dict[str, str | None] = {}
    for name in ("uint16", "uint32", "uint64", ">i4", ">f4"):
        try:
            found[name] = str(paddle.to_tensor(np.ones(1, name)).dtype)
        except ValueError:
            found[name] = None
    ones = paddle.to_tensor(np.full(1, 0x3F80, np.uint16))  # the bits of 1 in bfloat16
    return {"types": found, "labels": ones.astype("int64").tolist()}


if __name__ == "__main__":
    FACTS = {
        "arrays": array_facts,
        "loss": loss_facts,
        "scaler": scaler_facts,
        "clip": clip_facts,
        "amp": amp_facts,
        "optimizer": optimizer_facts,
    }
    if sys.argv[1] != "amp":
        warnings.filterwarnings("ignore", "amp_guard can only be enabled")
    print(json.dumps(FACTS[sys.argv[1]]()))
