"""Every pattern of overflows up to a length; runs in any Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
