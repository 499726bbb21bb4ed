"""apex.amp: a scaled loss, gradients unscaled behind the backward pass, steps that are skipped.

Before another backward pass of the same window the gradients so far are scaled again, so that what
a backward pass leaves is the scaled sum, as with other scalers. Scales are powers of two: no number
is rounded by that.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

GROWTH = 2.0
WINDOW = 2000
HIGHEST_FIRST = 2.0**16


class Scaler:
    """The loss scale of one loss, by the rules of apex."""

    def __init__(self, loss_scale: Any, least: Any, most: float, mode: str) -> None:
        self.mode = mode
        self.dynamic = loss_scale == "dynamic"
        self.scale = min(most, HIGHEST_FIRST) if self.dynamic else float(loss_scale)
        self.growth, self.window = GROWTH, WINDOW
        self._least, self._most, self._clean = least, most, 0

    def loss_scale(self) -> float:
        """Return the scale of now."""
        return self.scale

    def update(self, overflow: bool) -> None:
        """Adjust the scale after a backward pass."""
        if not self.dynamic:
            return
        if overflow:
            lower = self.scale / self.growth
            self.scale = lower if self._least is None else max(self._least, lower)
            self._clean = 0
            return
        self._clean += 1
        if self._clean == self.window:
            self.scale, self._clean = min(self._most, self.scale * self.growth), 0

    @property
    def settings(self) -> dict[str, Any]:
        """The settings, as scalers tell them."""
        if not self.dynamic:
            return {"dynamic": False}
        return {
            "dynamic": True,
            "growth_factor": self.growth,
            "backoff_factor": 1.0 / self.growth,
            "growth_interval": self.window,
        }


class Passes:
    """The backward passes since the last step of an optimizer."""

    def __init__(self, scaler: Scaler) -> None:
        self.scaler = scaler
        self.used: float | None = None
        self.overflow = False

    def add(self, scaler: Scaler, scale: float, overflow: bool) -> None:
        """Add a pass. What is told of several is the scale of the first, as of other scalers."""
        if self.used is None:
            self.scaler, self.used = scaler, scale
        self.overflow = self.overflow or (overflow and scaler.dynamic)

    @property
    def scale(self) -> float | None:
        """The scale of the next step; None if nothing was scaled."""
        return None if self.used == 1.0 and not self.scaler.dynamic else self.used


_state: dict[str, Any] = {"enabled": False, "scalers": []}
MODES = {"O0": "none", "O1": "mixed", "O2": "full", "O3": "full"}
"""Precision mode of a recipe for each opt level."""
LEVELS: dict[str, Any] = {"O0": 1.0, "O1": "dynamic", "O2": "dynamic", "O3": 1.0}


def initialize(
    models: Any,
    optimizers: Any = None,
    enabled: bool = True,
    opt_level: str = "O1",
    cast_model_type: Any = None,
    patch_torch_functions: Any = None,
    keep_batchnorm_fp32: Any = None,
    master_weights: Any = None,
    loss_scale: Any = None,
    cast_model_outputs: Any = None,
    num_losses: int = 1,
    verbosity: int = 1,
    min_loss_scale: Any = None,
    max_loss_scale: float = 2.0**24,
) -> Any:
    """Prepare models and optimizers, and return them in the form in which they were given."""
    if opt_level not in LEVELS:
        raise RuntimeError(f"Unexpected optimization level {opt_level}")
    _state["enabled"] = enabled
    if enabled:
        chosen = LEVELS[opt_level] if loss_scale is None else loss_scale
        mode = MODES[opt_level]
        scalers = [Scaler(chosen, min_loss_scale, max_loss_scale, mode) for _ in range(num_losses)]
        _state["scalers"] = scalers
        if opt_level != "O0":
            for model in _listed(models):
                model.forward = _in_half(model.forward)
        for optimizer in _listed(optimizers):
            prepare(optimizer, scalers[0])
    return models if optimizers is None else (models, optimizers)


def prepare(optimizer: Any, scaler: Scaler) -> None:
    """Have an optimizer skip the step after an overflow."""
    made = type(optimizer).step

    def step(self: Any, closure: Any = None) -> Any:
        return _step(self, made, closure)

    optimizer.amp_passes = Passes(scaler)
    optimizer.step = types.MethodType(step, optimizer)  # schedules look into the method


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _in_half(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def half(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cuda", dtype=torch.float16):
            return forward(*args, **kwargs)

    return half


def _step(optimizer: Any, step: Callable[..., Any], closure: Any = None) -> Any:
    """Make a step; after an overflow one without gradients, which changes nothing."""
    if optimizer.amp_passes.overflow:
        for parameter in master_params(optimizer):
            parameter.grad = None
        optimizer = getattr(optimizer, "optim", optimizer)  # LARC does nothing then
        step = type(optimizer).step
    try:
        return step(optimizer) if closure is None else step(optimizer, closure)
    finally:
        optimizer.amp_passes = Passes(optimizer.amp_passes.scaler)


@contextmanager
def scale_loss(
    loss: Any,
    optimizers: Any,
    loss_id: int = 0,
    model: Any = None,
    delay_unscale: bool = False,
    delay_overflow_check: bool = False,
) -> Iterator[Any]:
    """Yield the scaled loss; behind the backward pass gradients are unscaled and looked at."""
    if not _state["enabled"]:
        yield loss
        return
    scaler, prepared = _state["scalers"][loss_id], _listed(optimizers)
    scale, lost = scaler.scale, []
    for optimizer in prepared:
        if not getattr(optimizer, "amp_holds_scaled", False):
            _multiply(optimizer, scale)
        if optimizer.amp_passes.overflow:  # only what a pass adds is looked at
            lost += _set_aside(optimizer)
    yield loss.float() * scale
    for optimizer in prepared:
        optimizer.amp_holds_scaled = delay_unscale
    finite = [] if delay_unscale else [_multiply(each, 1.0 / scale) for each in prepared]
    for parameter, gradient in lost:
        parameter.grad = gradient
    if delay_unscale or delay_overflow_check:
        return
    for optimizer in prepared:
        optimizer.amp_passes.add(scaler, scale, not all(finite))
    scaler.update(not all(finite))


def _set_aside(optimizer: Any) -> list[tuple[Any, Any]]:
    """Take the gradients away, and return them with what they belong to."""
    held = [(p, p.grad) for p in master_params(optimizer) if p.grad is not None]
    for parameter, _ in held:
        parameter.grad = None
    return held


def _multiply(optimizer: Any, factor: float) -> bool:
    """Multiply gradients, and return whether they are finite."""
    finite = True
    for parameter in master_params(optimizer):
        if parameter.grad is not None:
            parameter.grad.mul_(factor)
            finite = finite and bool(torch.isfinite(parameter.grad).all())
    return finite


def master_params(optimizer: Any) -> Iterator[Any]:
    """Yield the parameters that the optimizer updates."""
    for group in optimizer.param_groups:
        yield from group["params"]


def state_dict(destination: Any = None) -> dict[str, Any]:
    """Return the loss scales."""
    return {
        f"loss_scaler{number}": {"loss_scale": scaler.scale, "unskipped": scaler._clean}
        for number, scaler in enumerate(_state["scalers"])
    }


def load_state_dict(state: dict[str, Any]) -> None:
    """Take loss scales over."""
    for number, scaler in enumerate(_state["scalers"]):
        held = state.get(f"loss_scaler{number}")
        if held is not None:
            scaler.scale, scaler._clean = held["loss_scale"], held["unskipped"]


def _unchanged(function: Any) -> Any:
    return function


half_function = float_function = promote_function = _unchanged


def _registered(module: Any, name: str) -> None:
    """Leave a function as it is: autocast decides about types."""


register_half_function = register_float_function = register_promote_function = _registered


@contextmanager
def disable_casts() -> Iterator[None]:
    """Compute in float32."""
    with torch.autocast("cuda", enabled=False):
        yield
