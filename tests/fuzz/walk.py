"""Every pattern of overflows up to a length; runs in any Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np


def walk(length: int, visit: Callable[[bool], None], save: Callable[[], Any], restore: Any) -> None:
    """Visit every pattern of overflows up to a length, each from the state its prefix left.

    Args:
        length: Attempts of the longest pattern.
        visit: Makes one attempt; gets whether its gradients overflow.
        save: Returns the state of the scaler.
        restore: Goes back to what `save` returned.
    """
    if not length:
        return
    before = save()
    for overflow in (False, True):
        restore(before)
        visit(overflow)
        walk(length - 1, visit, save, restore)


def window_patterns(
    step: ModuleType,
    state: Any,
    loss: Callable[..., Any],
    counters: Callable[[Any], tuple[int | None, int | None]],
    length: int,
    of_scaler: tuple[Callable[[], Any], Callable[[Any], object]] | None = None,
) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number.

    Args:
        step: The emitted module.
        state: Of the training.
        loss: Of a model and a batch: the weight times `x`.
        counters: Returns the counts of clean and of overflowed attempts.
        length: Attempts of the longest pattern.
        of_scaler: Returns what the framework's scaler holds, and puts it back.
    """
    seen: list[Any] = []

    def visit(overflow: bool) -> None:
        batch = {"labels": np.zeros(1), "x": np.float32(np.inf if overflow else 0.0)}
        row = step.train_window(state, [batch], loss)
        seen.append((row["scale"], row["skipped"], *counters(state)))

    def save() -> Any:
        machine = getattr(state, "loss_scale", None)
        return machine and replace(machine), of_scaler and of_scaler[0]()

    def restore(saved: tuple[Any, Any]) -> None:
        machine, held = saved
        if machine:
            state.loss_scale = replace(machine)
        if of_scaler:
            of_scaler[1](held)

    walk(length, visit, save, restore)
    return {"seen": seen}
