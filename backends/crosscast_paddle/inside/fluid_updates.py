"""Record the inputs and updates of the optimizers of `paddle.fluid` in dynamic graphs of Paddle 1.

There `minimize` is what makes an update; these releases scale losses in static graphs only. Python
3.7.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import paddle.fluid as fluid

from crosscast_paddle.inside.update_records import (
    class_of,
    clips_of,
    moved,
    settings_of,
    summary,
    tell,
)
from crosscast_parity.inside.updates import Records


class FluidWatch:
    """Records what happens between two updates, and what an update does."""

    def __init__(self, records: Records, perturb: bool, poison: int | None) -> None:
        self._records, self._perturb, self._poison = records, perturb, poison
        self._optimizers: list[Any] = []
        self._backwards = 0
        self._inside = False
        self._clipped: dict[int, Any] = {}

    def final(self) -> list[Any]:
        """Return the weights of now."""
        return [summary(p.numpy()) for o in self._optimizers for p in weights_of(o)]

    def backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Count backward passes."""

        @functools.wraps(original)
        def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._records.here():
                return original(loss, *args, **kwargs)
            if self._backwards == 0 and self._poison == self._records.attempts:
                loss = loss * math.inf
            self._backwards += 1
            return original(loss, *args, **kwargs)

        return backward

    def clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Keep the gradients that an optimizer goes on with after its own clipping."""

        @functools.wraps(original)
        def clip(clipping: Any, pairs: Any, *args: Any, **kwargs: Any) -> Any:
            clipped = original(clipping, pairs, *args, **kwargs)
            if self._inside:
                clipped = list(clipped)
                self._clipped.update({id(p): g.numpy() for p, g in clipped if g is not None})
            return clipped

        return clip

    def minimize(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Record an update."""

        @functools.wraps(original)
        def minimize(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside or not fluid.in_dygraph_mode() or not self._records.here():
                return original(optimizer, *args, **kwargs)
            self._inside = True
            try:
                held = weights_of(optimizer)
                if self._perturb and optimizer not in self._optimizers:
                    for weight in held:
                        weight.set_value(moved(weight.numpy()))
                before = [weight.numpy() for weight in held]
                gradients = [weight.gradient() for weight in held]
                self._clipped = {}
                result = original(optimizer, *args, **kwargs)
            finally:
                self._inside = False
            gradients = [self._clipped.get(id(w), g) for w, g in zip(held, gradients)]  # noqa: B905
            changes = [summary(w.numpy() - b) for w, b in zip(held, before)]  # noqa: B905
            summaries = [None if g is None else summary(g) for g in gradients]
            self._attempt(optimizer, summaries, changes)
            return result

        return minimize

    def _attempt(self, optimizer: Any, gradients: list[Any], changes: list[Any]) -> None:
        if not self._optimizers:
            tell(self._records)
        if not any(known is optimizer for known in self._optimizers):
            self._optimizers.append(optimizer)
        backwards, self._backwards = self._backwards, 0
        place = next(n for n, known in enumerate(self._optimizers) if known is optimizer)
        rate = float(optimizer.current_step_lr())
        self._records.attempt(
            {
                "optimizer": place,
                "class": class_of(optimizer),
                "skipped": False,
                "backwards": backwards,
                "scale": None,
                "settings": settings_of(optimizer, rate, len(weights_of(optimizer))),
                "clips": clips_of(optimizer),
                "gradients": gradients,
                "changes": changes,
                "types": ["float32"],
            }
        )


def weights_of(optimizer: Any) -> list[Any]:
    """Return the trainable weights of an optimizer."""
    held = optimizer._parameter_list or ()
    return [weight for weight in held if weight.trainable]


def install(records: Records, *, perturb: bool, poison: int | None) -> Callable[[], list[Any]]:
    """Watch dynamic graphs; return what returns their weights."""
    watch = FluidWatch(records, perturb, poison)
    tensor = fluid.core.VarBase
    tensor.backward = watch.backward(tensor.backward)
    for kind in vars(fluid.optimizer).values():
        if isinstance(kind, type) and "minimize" in vars(kind):
            kind.minimize = watch.minimize(kind.minimize)  # type: ignore[attr-defined]
    base = fluid.clip.GradientClipBase
    base.__call__ = watch.clip(base.__call__)
    return watch.final
