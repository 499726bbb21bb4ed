"""Where a framework lets the loss and the gradients of a micro-batch be changed from outside.

Here for frameworks that compute at once and whose parameters take hooks; others bring a module
`poison`. Standard library only, as `inject.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from crosscast_parity.inside.modules import module_of


class Cell(Protocol):
    """Holds the factors of a window's losses where the framework can see them change."""

    def set(self, micro: int, factor: float) -> None:
        """Use `factor` for a micro-batch, the one that comes next; 0 begins a window.

        A script may walk over its micro-batches several times, or all of them before the first
        loss, where one call trains a whole window.
        """

    def apply(self, loss: Any) -> Any:
        """Return the loss times the factor; a factor of 1 leaves every bit as it is."""


class EagerCell:
    """For frameworks that call the loss function once per micro-batch, as most do."""

    def __init__(self) -> None:
        self._factor = 1.0

    def set(self, micro: int, factor: float) -> None:
        """Use `factor` from now on."""
        self._factor = factor

    def apply(self, loss: Any) -> Any:
        """Return the loss times the factor."""
        return loss * self._factor


class Gradients(Protocol):
    """Reaches the gradients of one micro-batch, before they are added to those of the window."""

    reached: set[str]
    """Names of the parameters whose gradients have come by."""

    def attach(self, parameters: Mapping[str, Any]) -> None:
        """Get hold of these parameters too, by name; before the first micro-batch."""

    def set(self, micro: int, values: Mapping[str, float]) -> None:
        """Fill these gradients of a micro-batch, by name, and leave the others alone.

        Called as `Cell.set` is.
        """

    def release(self) -> None:
        """Let go of the framework: nothing is watched any more."""


class HookedGradients:
    """A hook on every parameter, called with the gradient of a backward."""

    def __init__(self) -> None:
        self.reached: set[str] = set()
        self._hooked: list[Any] = []
        self._values: Mapping[str, float] = {}

    def attach(self, parameters: Mapping[str, Any]) -> None:
        """Hook the parameters that get a gradient."""
        for name, parameter in parameters.items():
            frozen = getattr(parameter, "stop_gradient", None)  # where there is no requires_grad
            trained = parameter.requires_grad if frozen is None else not frozen
            if trained and not any(parameter is known for known in self._hooked):
                self._hooked.append(parameter)
                parameter.register_hook(self._hook(name, _full_like(parameter)))

    def set(self, micro: int, values: Mapping[str, float]) -> None:
        """Fill these gradients from now on."""
        self._values = values

    def release(self) -> None:
        """Forget the parameters; their hooks end with the model."""
        self._hooked.clear()
        self._values = {}

    def _hook(self, name: str, full_like: Callable[..., Any]) -> Callable[[Any], Any]:
        def hook(gradient: Any) -> Any:
            self.reached.add(name)
            value = self._values.get(name)
            return None if value is None else full_like(gradient, value)

        return hook


def _full_like(tensor: Any) -> Callable[..., Any]:
    """Return the function of that name of the framework that a tensor is of."""
    framework = importlib.import_module(type(tensor).__module__.partition(".")[0])
    function: Callable[..., Any] = framework.full_like
    return function


def make_poison(inside: str) -> tuple[Cell, Gradients]:
    """Return the means to poison losses and gradients in a framework.

    Args:
        inside: the package with what a backend loads in the process; empty for none.
    """
    own = module_of(inside, "poison")
    poison: tuple[Cell, Gradients] = own.make_poison() if own else (EagerCell(), HookedGradients())
    return poison
