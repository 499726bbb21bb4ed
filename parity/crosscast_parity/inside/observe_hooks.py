"""What PyTorch and Paddle show: hooks on parameters and losses, and the optimizer's step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from crosscast_parity.inside.watcher import Array, Seen


class Eager(Protocol):
    """What the watcher must be able to ask a framework."""

    def trained(self, tensor: Any) -> bool:
        """Whether a value is a tensor that backward reaches."""

    def array(self, tensor: Any) -> Array:
        """Return a copy of the values in float32."""

    def kind(self, tensor: Any) -> str:
        """Return the type, such as `float32`."""

    def number(self, value: Any) -> float:
        """Return the value of a scalar; NaN for anything else."""

    def watch_step(self, optimizer: Any, seen: Callable[[], None]) -> Callable[[], None] | None:
        """Call `seen` before every step; return what takes it back, None if there are no steps."""


class HookedWatcher:
    """Sees what backward delivers, before it is added to `parameter.grad`."""

    def __init__(self, framework: Eager) -> None:
        self._framework = framework
        self._seen = Seen()
        self._state: Any = None
        self._models: Sequence[Mapping[str, Any]] = ()
        self._small = self._recording = False
        self._hooked: list[Any] = []
        self._undo: list[Callable[[], None]] = []

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function."""
        return function

    def begin(
        self, state: Any, models: Sequence[Mapping[str, Any]], small: bool, active: bool
    ) -> None:
        """Start with a window."""
        self._seen, self._small, self._recording = Seen(), small, active
        self._models = models
        if active and self._state is not state:
            self._state = state
            optimizer = getattr(state, "optimizer", None)
            undo = self._framework.watch_step(optimizer, self._note_applied)
            if undo is not None:
                self._undo.append(undo)

    def enter(self) -> None:
        """Hook the parameters: only now, so behind the hooks of an injector."""
        if self._hooked or not self._recording:
            return
        for named in self._models:
            for name, parameter in named.items():
                known = any(parameter is other for other in self._hooked)
                if not known and self._framework.trained(parameter):
                    self._hooked.append(parameter)
                    self._undo.append(parameter.register_hook(self._hook(name)).remove)

    def leave(self, loss: Any) -> Any:
        """Note the loss, and what backward will deliver to it."""
        if not self._recording:
            return loss
        factors = self._seen.factors
        index = len(factors)
        self._seen.losses.append(self._framework.number(loss))
        factors.append(None)
        if self._framework.trained(loss):

            def hook(gradient: Any) -> None:
                factors[index] = self._framework.number(gradient)

            loss.register_hook(hook)
        return loss

    def end(self) -> Seen:
        """End the window."""
        self._recording = False
        return self._seen

    def close(self) -> None:
        """Remove the hooks."""
        while self._undo:
            self._undo.pop()()
        self._hooked.clear()
        self._models, self._state, self._recording = (), None, False

    def array(self, parameter: Any) -> Array:
        """Return the values of a parameter."""
        return self._framework.array(parameter)

    def _hook(self, name: str) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            if not self._recording:
                return
            seen, array = self._seen, self._framework.array(gradient)
            seen.gradient_dtypes[name] = self._framework.kind(gradient)
            groups = [seen.total]
            if self._small and len(seen.losses) == 1:
                groups.append(seen.first)
            with np.errstate(all="ignore"):
                for group in groups:
                    group[name] = group[name] + array if name in group else array

        return hook

    def _note_applied(self) -> None:
        if not self._recording or not self._models:
            return
        # A fused optimizer of PyTorch may be asked to unscale by itself.
        scale = getattr(self._state.optimizer, "grad_scale", None)
        divisor = np.float32(1.0 if scale is None else self._framework.number(scale))
        for name, parameter in self._models[0].items():
            # Half weights of PyTorch have the float32 ones, which the optimizer gets, beside them.
            gradient = getattr(parameter, "master", parameter).grad
            if gradient is not None:
                with np.errstate(all="ignore"):
                    self._seen.applied[name] = self._framework.array(gradient) / divisor


def wrap_step(optimizer: Any, seen: Callable[[], None]) -> Callable[[], None] | None:
    """Call `seen` before every `optimizer.step`; return what takes it back, None without a step."""
    original = getattr(optimizer, "step", None)
    if original is None:
        return None

    @functools.wraps(original)
    def step(*args: Any, **kwargs: Any) -> Any:
        seen()
        return original(*args, **kwargs)

    optimizer.step = step

    def undo() -> None:
        if vars(optimizer).get("step") is step:
            del optimizer.step

    return undo
