"""What stock Paddle makes of optimizers, clipping and half weights, as JSON. Run as a program."""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import paddle


def make(*values: float) -> Any:
    """Return a weight that holds these values."""
    initial = paddle.nn.initializer.Assign(paddle.to_tensor(values))
    return paddle.create_parameter([len(values)], "float32", default_initializer=initial)


def moved(optimizer: Any, weight: Any, gradients: Sequence[float]) -> list[float]:
    """Return the weight's first value after a step for every gradient."""
    found = []
    for gradient in gradients:
        (weight * gradient).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        found.append(weight[0].item())
    return found


def adam(cls: Any, **settings: Any) -> float:
    """Return how far the first step of rate 1 goes for a gradient of 0.25."""
    weight = make(0.0)
    start: list[float] = moved(cls(1.0, parameters=[weight], **settings), weight, [0.25])
    return -start[0]


def lamb(gradient: float, start: float, **settings: Any) -> float:
    """Return how far the first step of rate 1 goes from `start`."""
    weight = make(start)
    optimizer = paddle.optimizer.Lamb(1.0, parameters=[weight], epsilon=1e-6, **settings)
    return start - moved(optimizer, weight, [gradient])[0]


def momentum() -> list[float]:
    """Return the weight after two steps, the second at a rate of 0."""
    weight = make(0.0)
    optimizer = paddle.optimizer.Momentum(1.0, momentum=0.5, parameters=[weight])
    first = moved(optimizer, weight, [1.0])
    optimizer.set_lr(0.0)
    return first + moved(optimizer, weight, [0.0])


def decays() -> dict[str, float]:
    """Return how much of a decay of 0.01 AdamW applies at several rates to weights from 1 to 2."""
    start, found = np.linspace(1.0, 2.0, 2**16, endpoint=False, dtype=np.float32), {}
    for rate in (1e-5, 5e-5, 1e-3):
        weight = paddle.create_parameter([len(start)], "float32")
        weight.set_value(start)
        moved(paddle.optimizer.AdamW(rate, parameters=[weight], weight_decay=0.01), weight, [0.0])
        lost = start.astype(float) - weight.numpy()
        found[str(rate)] = float(lost.sum() / (start.astype(float).sum() * rate * 0.01))
    return found


def shares(cls: Any, beta: float) -> list[float]:
    """Return the share of a first gradient of 1 in both moments."""
    weight = make(0.0)
    optimizer = cls(1.0, beta1=beta, beta2=beta, parameters=[weight])
    moved(optimizer, weight, [1.0])
    moments = (optimizer._accumulators[name] for name in ("moment1", "moment2"))
    return [held[0].item() for moment in moments for held in moment.values()]


def optimizer_facts() -> dict[str, Any]:
    """Formulas of the optimizers, and which there are."""
    names = ("Adam", "AdamW", "Lamb")
    return {
        "present": [name for name in ("Lion", "Adafactor", *names) if has(name)],
        "momentum": momentum(),
        "arguments": {name: arguments(getattr(paddle.optimizer, name)) for name in names},
        "adam": adam(paddle.optimizer.Adam, epsilon=1e-8),
        "decays": decays(),
        "shares": {
            beta: {name: shares(getattr(paddle.optimizer, name), beta) for name in names}
            for beta in (0.999, 0.9999, 0.99999)
        },
        "adam_eps": adam(paddle.optimizer.Adam, epsilon=0.25),
        "lamb": {
            "decayed": lamb(0.25, 3.0, lamb_weight_decay=1.0),
            "zero decay": lamb(0.25, 3.0, lamb_weight_decay=0.0),
            "always": lamb(0.25, 3.0, lamb_weight_decay=0.0, always_adapt=True),
            "zero weight": lamb(0.25, 0.0, lamb_weight_decay=0.0, always_adapt=True),
        },
    }


def has(name: str) -> bool:
    return hasattr(paddle.optimizer, name)


def arguments(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def need_clip() -> dict[str, list[float]]:
    """Return the gradients 3 and 4 after clipping to a norm of 1; the second is not to be."""
    found = {}
    for name in ("norm", "value"):
        first, second = make(0.0), make(0.0)
        second.need_clip = False
        (first * 3.0 + second * 4.0).sum().backward()
        clip = paddle.nn.utils.clip_grad_norm_ if name == "norm" else CLIP_VALUE
        clip([first, second], 1.0)
        found[name] = [first.grad.item(), second.grad.item()]
    return found


CLIP_VALUE = paddle.nn.utils.clip_grad_value_


def clip_facts() -> dict[str, Any]:
    """Scopes of clipping."""
    first, second = make(0.0), make(0.0)
    clip = paddle.nn.ClipGradByNorm(1.0)
    optimizer = paddle.optimizer.SGD(1.0, parameters=[first, second], grad_clip=clip)
    (first * 0.5 + second * 4.0).sum().backward()
    optimizer.step()
    return {
        "need_clip": need_clip(),
        "each": [first.item(), second.item()],
        "arguments": arguments(paddle.nn.ClipGradByNorm),
    }


def half_facts() -> dict[str, Any]:
    """Sums of gradients of half weights; what decorate does on a CPU."""
    zeros = paddle.nn.initializer.Constant(0.0)
    weight = paddle.create_parameter([1], "float16", default_initializer=zeros)
    for gradient in (2048.0, 1.0):
        (weight.astype("float32") * gradient).sum().backward()
    layer = paddle.nn.Linear(1, 1)
    paddle.amp.decorate(models=layer, level="O2", dtype="float16")
    return {
        "sum": weight.grad.astype("float32").item(),
        "half": weight.grad.dtype == paddle.float16,
        "decorated": layer.weight.dtype == paddle.float16,
    }


def list_facts() -> dict[str, Any]:
    """What the lists of auto_cast take."""
    try:
        with paddle.amp.auto_cast(custom_white_list={"gelu"}, custom_black_list={"gelu"}):
            both = ""
    except ValueError as error:
        both = str(error)
    black = {half: sorted(levels["O1"]) for half, levels in paddle.amp.black_list().items()}
    return {"arguments": arguments(paddle.amp.auto_cast), "both": both, "black": black}


def layer_norm_facts() -> dict[str, Any]:
    """Which epsilons layer_norm takes."""

    def refused(epsilon: float) -> str:
        try:
            paddle.nn.functional.layer_norm(paddle.ones([1, 4]), 4, epsilon=epsilon)
        except ValueError as error:
            return str(error)
        return ""

    return {"1e-3": refused(1e-3), "2e-3": refused(2e-3)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    FACTS = {
        "optimizer": optimizer_facts,
        "clip": clip_facts,
        "half": half_facts,
        "lists": list_facts,
        "layer_norm": layer_norm_facts,
    }
    print(json.dumps(FACTS[sys.argv[1]]()))
