"""Record the inputs and updates of Paddle's optimizers in dynamic graphs, from Paddle 2 on.

Steps and `minimize` of every class of optimizers are wrapped when the first of it is made,
GradScaler's likewise. Nothing is computed otherwise than without this, with one exception: on a CPU
Paddle turns GradScaler off; here it is told that there is a GPU (`forced` in the records), so that
scaling, unscaling and skipping happen.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import paddle
from paddle.amp import grad_scaler

from crosscast_paddle.inside.on_cpu import enable_scaler
from crosscast_paddle.inside.parts import (
    Parts,
    array,
    number,
    parameters_of,
    plain_type,
    settings_of,
)
from crosscast_paddle.inside.update_records import CLIPS, moved, on_gpu, summary, tell
from crosscast_parity.inside.updates import SEED, Records, wrap_step


class Watch:
    """Records what happens between two steps, and what a step does."""

    def __init__(self, records: Records, perturb: bool, poison: int | None) -> None:
        self._records, self._perturb, self._poison = records, perturb, poison
        self._optimizers: list[Any] = []
        self._stepping: list[Any] = []
        self._backward = False
        self._backwards = 0
        self._scale: float | None = None
        self._clipped: dict[int, Any] | None = None
        self._total: dict[int, Any] = {}
        self._made: list[Any] = []
        between = records.between
        self._parts = Parts(between, lambda: self._backward) if between is not None else None
        if self._parts is not None:
            self._parts.install()
        self._draws = False

    def final(self) -> list[Any]:
        """Return the weights of now."""
        return [
            summary(array(p)) for optimizer in self._optimizers for p in parameters_of(optimizer)
        ]

    def backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Count backward passes, and keep what they deliver."""

        @functools.wraps(original)
        def backward(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if self._backward or not paddle.in_dynamic_mode() or not self._records.here():
                return original(tensor, *args, **kwargs)
            if self._backwards == 0 and self._poison == self._records.attempts:
                tensor = tensor * math.inf
            self._backwards += 1
            self._backward = True
            try:
                return original(tensor, *args, **kwargs)
            finally:
                self._backward = False
                self._delivered()

        return backward

    def _delivered(self) -> None:
        between = self._records.between
        if between is None:
            return
        between.backward()
        held = [p for optimizer in self._made for p in parameters_of(optimizer)]
        if between.windows.wanted(sum(math.prod(p.shape) for p in held)):
            self._total = {id(p): array(p.grad) for p in held if p.grad is not None}

    def draw(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note that random numbers are drawn."""

        @functools.wraps(original)
        def draw(*args: Any, **kwargs: Any) -> Any:
            self._draws = True
            return original(*args, **kwargs)

        return draw

    def made(self, optimizer: Any) -> None:
        """Wrap the steps of its class; move its weights if the run is a perturbed one."""
        if not any(known is optimizer for known in self._made):
            self._made.append(optimizer)
            if self._perturb and paddle.in_dynamic_mode():
                for parameter in parameters_of(optimizer):
                    parameter.set_value(moved(parameter.numpy()))
        for method in ("step", "minimize"):
            wrap_step(type(optimizer), method, self)

    def clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Keep the gradients that an optimizer goes on with after its own clipping."""

        @functools.wraps(original)
        def clip(clipping: Any, pairs: Any, *args: Any, **kwargs: Any) -> Any:
            clipped = original(clipping, pairs, *args, **kwargs)
            if self._stepping:
                clipped = list(clipped)
                held = {id(p): array(g) for p, g in clipped if g is not None}
                self._clipped = {**(self._clipped or {}), **held}
            return clipped

        return clip

    def step(self, original: Callable[..., Any], optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Make a step and record it."""
        busy = any(known is optimizer for known in self._stepping)
        if busy or not paddle.in_dynamic_mode() or not self._records.here():
            return original(optimizer, *args, **kwargs)
        self._stepping.append(optimizer)
        try:
            held = parameters_of(optimizer)
            if self._perturb:
                for parameter in held:
                    if parameter.grad is not None:
                        parameter.grad.set_value(moved(parameter.grad.numpy()))
            before = [array(p) for p in held]
            gradients = [None if p.grad is None else array(p.grad) for p in held]
            clips = self._clips(optimizer, gradients)
            self._clipped = None
            found_inf = optimizer._auxiliary_vars.get("found_inf")
            skipped = self._scale is not None and bool(number(found_inf))
            groups, of = settings_of(optimizer)
            result = original(optimizer, *args, **kwargs)
        finally:
            self._stepping.remove(optimizer)
        clipped: dict[int, Any] = self._clipped or {}
        applied = [clipped.get(id(p), g) for p, g in zip(held, gradients)]  # noqa: B905
        known = all(other is optimizer for other in self._optimizers)
        if self._parts is not None:
            self._parts.write(
                held,
                {
                    "before": before,
                    "after": [array(p) for p in held],
                    "total": [self._total.get(id(p)) for p in held],
                    "applied": [] if skipped else applied,
                },
                of,
                lr=groups[0]["lr"],
                scale=self._scale,
                skipped=skipped,
                alone=known,
            )
        self._total = {}
        changes = [summary(array(p) - b) for p, b in zip(held, before)]  # noqa: B905
        summaries = [None if gradient is None else summary(gradient) for gradient in applied]
        self._attempted(optimizer, groups, clips, summaries, changes, skipped=skipped)
        return result

    def _clips(self, optimizer: Any, gradients: list[Any]) -> list[dict[str, Any]]:
        clipping = optimizer._grad_clip
        if type(clipping).__name__ not in CLIPS:
            return []
        kind, name = CLIPS[type(clipping).__name__]
        norms = [float(np.linalg.norm(g.astype(np.float64))) for g in gradients if g is not None]
        largest = [float(np.abs(g).max()) for g in gradients if g is not None and g.size]
        sizes = {"global_norm": math.hypot(*norms), "per_param_norm": max(norms, default=0.0)}
        size = sizes.get(kind, max(largest, default=0.0))
        return [{"kind": kind, "limit": float(getattr(clipping, name)), "size": size}]

    def scaled(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note the scale of an attempt."""

        @functools.wraps(original)
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            seen = self._scale is not None or not paddle.in_dynamic_mode()
            if seen or not scaler._enable or not self._records.here():
                return original(scaler, optimizer, *args, **kwargs)
            self._scale = number(scaler._scale)
            if self._records.between is not None:
                self._records.between.tell(scaler=told_of_scaler(scaler))
            try:
                return original(scaler, optimizer, *args, **kwargs)
            finally:
                self._scale = None

        return step

    def _attempted(
        self,
        optimizer: Any,
        groups: list[dict[str, Any]],
        clips: list[dict[str, Any]],
        gradients: list[Any],
        changes: list[Any],
        *,
        skipped: bool,
    ) -> None:
        if not self._optimizers:
            tell(self._records)
        if not any(known is optimizer for known in self._optimizers):
            self._optimizers.append(optimizer)
        place = next(n for n, known in enumerate(self._optimizers) if known is optimizer)
        backwards, self._backwards = self._backwards, 0
        between = self._records.between
        draws, self._draws = self._draws, False
        types = sorted({plain_type(p.dtype) for p in parameters_of(optimizer)})
        self._records.attempt(
            {
                **({} if between is None else {"micro": between.taken()}),
                "optimizer": place,
                "class": type(optimizer).__name__,
                "skipped": skipped,
                "backwards": backwards,
                "scale": self._scale,
                "settings": groups,
                "clips": clips,
                "gradients": [] if skipped else gradients,
                "changes": [] if skipped else changes,
                "types": types if self._parts is None else self._parts.taken_types(),
                "draws": draws,
            }
        )


def told_of_scaler(scaler: Any) -> dict[str, Any]:
    """Return the settings of a scaler."""
    return {
        "dynamic": bool(scaler._use_dynamic_loss_scaling),
        "growth_factor": float(scaler._incr_ratio),
        "backoff_factor": float(scaler._decr_ratio),
        "growth_interval": int(scaler._incr_every_n_steps),
        "hysteresis": int(scaler._decr_every_n_nan_or_inf),
    }


def wrap_made(kind: Any, watch: Watch) -> None:
    """Have all optimizers looked at when they are made."""
    original = kind.__init__

    @functools.wraps(original)
    def made(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        original(optimizer, *args, **kwargs)
        watch.made(optimizer)

    kind.__init__ = made


def install(records: Records, *, perturb: bool, poison: int | None) -> Callable[[], list[Any]]:
    """Watch dynamic graphs; return what returns their weights."""
    paddle.seed(SEED)
    watch = Watch(records, perturb, poison)
    if not on_gpu():
        enable_scaler()
        # Without a GPU auto_cast is off, and a scaler that sees that turns itself off, too.
        grad_scaler.amp_global_state = lambda: SimpleNamespace(amp_dtype="float16")
    for kind in vars(paddle.optimizer).values():  # not all of them make what they inherit
        if isinstance(kind, type) and issubclass(kind, paddle.optimizer.Optimizer):
            wrap_made(kind, watch)
    paddle.Tensor.backward = watch.backward(paddle.Tensor.backward)
    functional = paddle.nn.functional
    functional.dropout = watch.draw(functional.dropout)
    base = paddle.nn.clip.ClipGradBase
    base.__call__ = watch.clip(base.__call__)
    for method in ("step", "minimize"):
        original = getattr(paddle.amp.GradScaler, method)
        setattr(paddle.amp.GradScaler, method, watch.scaled(original))
    return watch.final
