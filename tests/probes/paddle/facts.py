"""What stock Paddle does, as JSON. Run as a program; the tests beside it read the result."""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import paddle

from crosscast_paddle.inside.on_cpu import enable_scaler
from probes.fact import Fact, main

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


def parameters(function: Any) -> list[str]:
    """Return the names of the parameters of a function."""
    return list(inspect.signature(function).parameters)


def on_gpu(ask: Callable[[], Any]) -> Callable[[], Any]:
    """Let a scaler work as if there were a GPU while something is asked."""

    def asked() -> Any:
        enable_scaler()
        return ask()

    return asked


NEVER = 2**31 - 1
SCALER = {
    "parameters": Fact(
        "parameters of GradScaler", lambda: parameters(paddle.amp.GradScaler.__init__)[1:]
    ),
    "enabled": Fact(
        "a scaler is at work before any auto_cast, and after one",
        on_gpu(
            lambda: {
                "before any": fresh_scaler(),
                **{dtype: enabled_after(dtype) for dtype in ("float16", "bfloat16")},
            }
        ),
    ),
    "floor": Fact(
        "scale from 1e-40 after twelve overflows with a ratio of 0.01",
        on_gpu(lambda: scales([INF] * 12, init_loss_scaling=1e-40, decr_ratio=1e-2)),
    ),
    "after_zero": Fact("a finite step once the scale has fallen to 0", on_gpu(after_zero_scale)),
    "ceiling": Fact(
        "scale from 2^125 after each of five clean steps that all let it grow",
        on_gpu(lambda: scales([0.0] * 5, init_loss_scaling=2.0**125, incr_every_n_steps=1)),
    ),
    "interval": Fact(
        "scale from 1 after six clean steps, growing after every third",
        on_gpu(lambda: scales([1.0] * 6, init_loss_scaling=1.0, incr_every_n_steps=3)),
    ),
    "consecutive": Fact(
        "scale from 64 after inf, 1, inf, 1, inf, inf with decr_every_n_nan_or_inf=2",
        on_gpu(
            lambda: scales(
                [INF, 1.0, INF, 1.0, INF, INF], init_loss_scaling=64.0, decr_every_n_nan_or_inf=2
            )
        ),
    ),
    "static": Fact(
        "a scaler that is not dynamic after clean, overflow, clean",
        on_gpu(lambda: constant_scaler(use_dynamic_loss_scaling=False)),
    ),
    "never": Fact(
        "a scaler that never adjusts after clean, overflow, clean",
        on_gpu(lambda: constant_scaler(incr_every_n_steps=NEVER, decr_every_n_nan_or_inf=NEVER)),
    ),
    "new_scale": Fact(
        "scale as it is told, multiplies and is saved after set_init_loss_scaling(3)",
        on_gpu(new_scale),
    ),
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


def clipped_values() -> list[float]:
    """Return the gradients -3, 0.5, inf and nan after clipping to 1."""
    weight = paddle.create_parameter([4], "float32")
    (weight * paddle.to_tensor([-3.0, 0.5, INF, float("nan")])).sum().backward()
    paddle.nn.utils.clip_grad_value_([weight], 1.0)
    found: list[float] = weight.grad.tolist()
    return found


CLIP = {
    "large": Fact("relative errors of the norm of a million numbers", large_norms),
    "parameters": Fact(
        "parameters of clip_grad_norm_", lambda: parameters(paddle.nn.utils.clip_grad_norm_)
    ),
    "above": Fact("clip_grad_norm_ of a norm of 5 to 1", lambda: clipped(5.0, 1.0)),
    "at": Fact("clip_grad_norm_ of a norm of 1 to 1", lambda: clipped(1.0, 1.0)),
    "below": Fact("clip_grad_norm_ of a norm of 0.5 to 1", lambda: clipped(0.5, 1.0)),
    "tiny": Fact("clip_grad_norm_ of a norm of 1e-5 to 1e-5", lambda: clipped(1e-5, 1e-5)),
    "values": Fact("clip_grad_value_ of -3, 0.5, inf to 1", lambda: clipped_values()[:3]),
    "nan_stays": Fact("clip_grad_value_ keeps nan", lambda: math.isnan(clipped_values()[3])),
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


def scaler_on_cpu() -> dict[str, Any]:
    """Return what a scaler says without a GPU."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
    return {
        "enabled": scaler.is_enable(),
        "scaled": scaler.scale(paddle.ones([])).item(),
        "told": told(scaler),
        "state": scaler.state_dict(),
        "warnings": [str(diagnostic.message) for diagnostic in caught],
    }


AMP = {
    "device": Fact("the device", lambda: paddle.device.get_device()),
    "products": Fact(
        "a matmul under auto_cast on CPU",
        lambda: {dtype: product(dtype) for dtype in ("float16", "bfloat16")},
    ),
    "scaler": Fact("a GradScaler on CPU", scaler_on_cpu),
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


def asked_names() -> list[str]:
    """Return the names with which AdamW asks whether a parameter decays."""
    asked: list[str] = []
    decayed(lambda name: asked.append(name) or True)  # type: ignore[func-returns-value]
    return asked


def trained() -> tuple[str, dict[str, Any]]:
    """Return the name of a weight and the optimizer's state after forty steps of Adam."""
    layer = paddle.nn.Linear(1, 1)
    optimizer = paddle.optimizer.Adam(0.1, beta1=0.9, beta2=0.99, parameters=layer.parameters())
    layer(paddle.ones([1, 1])).sum().backward()
    for _ in range(40):
        optimizer.step()
    return layer.weight.name, optimizer.state_dict()


def suffixes() -> list[str]:
    """Return what Adam calls the state of a weight, after the name of the weight."""
    weight, held = trained()
    return sorted({key.removeprefix(weight) for key in held if weight in key})


def powers() -> list[float]:
    """Return the powers of the betas after forty steps of Adam."""
    weight, held = trained()
    return [held[f"{weight}_beta{n}_pow_acc_0"].item() for n in (1, 2)]


OPTIMIZER = {
    "asked": Fact("names with which AdamW asks whether a parameter decays", asked_names),
    "by_name": Fact(
        "weight and bias of 1 after AdamW with a function that exempts the name bias",
        lambda: decayed(lambda name: "bias" not in name),
    ),
    "suffixes": Fact("names in Adam's state", suffixes),
    "powers": Fact("powers of the betas 0.9, 0.99 after forty steps of Adam", powers),
    "with_factor": Fact(
        "how far SGD of rate 0.5 moves a weight with a factor of 0.25", lambda: with_factor(0.25)
    ),
    "kept_by_augment": Fact("+= and *= leave a variable at its tensor", augmented),
}


def wrong_rows() -> tuple[Any, Any]:
    """Return the cross-entropy of rows that the model gets very wrong, and the logits."""
    logits = paddle.to_tensor([[0.0, 50.0], [0.0, 70.0], [0.0, 300.0]], stop_gradient=False)
    labels = paddle.zeros([3], "int64")
    losses = paddle.nn.functional.cross_entropy(logits, labels, reduction="none")
    losses.sum().backward()
    return losses, logits


def taken(name: str) -> str | None:
    """Return the type that a NumPy array of a type becomes; None if it is not taken."""
    try:
        return str(paddle.to_tensor(np.ones(1, name)).dtype)
    except ValueError:
        return None


def mean_with_ignored(index: int) -> float:
    """Return the mean cross-entropy, in units of log 2, of two labels of which one is ignored."""
    labels = paddle.to_tensor([0, index])
    loss = paddle.nn.functional.cross_entropy(paddle.zeros([2, 2]), labels, ignore_index=index)
    return round(float(loss) / math.log(2), 3)


LOSS = {
    "ignored": Fact(
        "mean of two losses of log 2 of which one is ignored, in log 2: ignore_index -100 and 1",
        lambda: [mean_with_ignored(-100), mean_with_ignored(1)],
    ),
    "losses": Fact(
        "cross-entropy of rows that are wrong by 50, 70, 300",
        lambda: wrong_rows()[0].flatten().tolist(),
    ),
    "gradient": Fact(
        "gradient of the cross-entropy of rows that are wrong by 50, 70, 300",
        lambda: wrong_rows()[1].grad.tolist(),
    ),
}
ARRAYS = {
    "types": Fact(
        "types of NumPy arrays",
        lambda: {name: taken(name) for name in ("uint16", "uint32", "uint64", ">i4", ">f4")},
    ),
    "labels": Fact(  # the bits of 1 in bfloat16
        "a NumPy array of uint16 with 0x3f80 as int64",
        lambda: paddle.to_tensor(np.full(1, 0x3F80, np.uint16)).astype("int64").tolist(),
    ),
}
FACTS = {  # the first group before the others, which pretend that there is a GPU
    "amp": AMP,
    "arrays": ARRAYS,
    "loss": LOSS,
    "scaler": SCALER,
    "clip": CLIP,
    "optimizer": OPTIMIZER,
}

if __name__ == "__main__":
    if sys.argv[1] != "amp":
        warnings.filterwarnings("ignore", "amp_guard can only be enabled")
    main(FACTS)
