"""What the observer asks of a framework, and what it gets (see `observe`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass
class Seen:
    """What a framework showed during one window; arrays by name, in the framework's layout."""

    losses: list[float] = field(default_factory=list)
    factors: list[float | None] = field(default_factory=list)
    total: dict[str, Array] = field(default_factory=dict)
    first: dict[str, Array] = field(default_factory=dict)
    applied: dict[str, Array] = field(default_factory=dict)
    gradient_dtypes: dict[str, str] = field(default_factory=dict)


class Watcher(Protocol):
    """Reaches losses and gradients in one framework."""

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Mark a function of the observer's own, which the framework must not rewrite."""

    def begin(
        self, state: Any, models: Sequence[Mapping[str, Any]], small: bool, active: bool
    ) -> None:
        """Start with a window.

        Args:
            state: the script's.
            models: parameters by name, of the model and, if it is another one, of the copy that
                computes; names may be in both.
            small: whether to record the first micro-batch by itself.
            active: whether the window is recorded. Of one that is not, only what it traces matters:
                a later one, which is recorded, may run it.
        """

    def enter(self) -> None:
        """A micro-batch begins."""

    def leave(self, loss: Any) -> Any:
        """This is its loss; return the one to hand to the script."""

    def end(self) -> Seen:
        """End the window."""

    def close(self) -> None:
        """Undo all changes; may be called twice."""

    def array(self, parameter: Any) -> Array:
        """Return the values of a parameter."""


class Blind:
    """For scripts of no known framework: only parameters and plain losses are seen."""

    def __init__(self) -> None:
        self._seen = Seen()

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function."""
        return function

    def begin(
        self, state: Any, models: Sequence[Mapping[str, Any]], small: bool, active: bool
    ) -> None:
        """Forget the last window."""
        self._seen = Seen()

    def enter(self) -> None:
        """Do nothing."""

    def leave(self, loss: Any) -> Any:
        """Note the loss, if it is a number."""
        if isinstance(loss, int | float | np.number | np.ndarray):
            self._seen.losses.append(float(loss))
            self._seen.factors.append(None)
        return loss

    def end(self) -> Seen:
        """Return the losses."""
        return self._seen

    def close(self) -> None:
        """Do nothing."""

    def array(self, parameter: Any) -> Array:
        """Return the values of what NumPy takes for an array."""
        return np.array(parameter, np.float32)
