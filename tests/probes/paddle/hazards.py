"""Where stock Paddle endangers a training run, as JSON. Run as a program."""

from __future__ import annotations

import json
import warnings
from typing import Any

import paddle

# isort: split
from crosscast_paddle.inside.on_cpu import enable_scaler

INF = float("inf")


def make(value: float = 1.0) -> tuple[Any, Any]:
    """Return a weight and a plain SGD for it alone."""
    initial = paddle.nn.initializer.Constant(value)
    weight = paddle.create_parameter([1], "float32", default_initializer=initial)
    return weight, paddle.optimizer.SGD(1.0, parameters=[weight])


def make_scaler(**settings: Any) -> Any:
    """Return a scaler that stays on: a float16 auto_cast has been."""
    scaler = paddle.amp.GradScaler(**settings)
    with paddle.amp.auto_cast(dtype="float16"):
        pass
    return scaler


def two_optimizers(*, unscale_first: bool) -> dict[str, float]:
    """One scaler, two optimizers, an overflow in the gradients of the first one only."""
    (bad, first), (good, second) = make(), make()
    scaler = make_scaler(init_loss_scaling=8.0)
    scaler.scale((bad * INF + good * 0.25).sum()).backward()
    if unscale_first:
        scaler.unscale_(first)
        scaler.unscale_(second)
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    scale = float(scaler.state_dict()["scale"][0])
    return {"overflowed": bad.item(), "other": good.item(), "scale": scale}


def unscaled(scale: float) -> float:
    """Return what unscale_ leaves of a gradient that is 0.25."""
    weight, optimizer = make()
    scaler = make_scaler(init_loss_scaling=scale)
    scaler.scale((weight * 0.25).sum()).backward()
    scaler.unscale_(optimizer)
    gradient: float = weight.grad.item()
    return gradient


def back_off(**settings: Any) -> str:
    """Return what a back-off raises where NumPy's deprecated conversions are errors."""
    weight, optimizer = make()
    scaler = make_scaler(init_loss_scaling=8.0, **settings)
    scaler.scale((weight * INF).sum()).backward()
    scaler.step(optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            scaler.update()
        except (DeprecationWarning, TypeError) as error:
            return str(error)
    return ""


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "amp_guard can only be enabled")
    enable_scaler()
    never = {"incr_every_n_steps": 2**31 - 1, "decr_every_n_nan_or_inf": 2**31 - 1}
    facts = {
        "two": [two_optimizers(unscale_first=first) for first in (False, True)],
        "unscaled": [unscaled(2.0**exponent) for exponent in (126, 127)],
        "clipped_inf": paddle.clip(paddle.to_tensor(INF), min=0.0).item(),
        "back_off": {"stock": back_off(), "never": back_off(**never)},
    }
    print(json.dumps(facts))
