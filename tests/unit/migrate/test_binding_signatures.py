"""Signatures in the index of public names, as an installed library shows them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from crosscast_migrate.binding.make_index import constructor, signature


class Cell:
    """Refuses keywords but one of a loop over them."""

    def __init__(self, cell: object, size: int = 1, **kwargs: object) -> None:
        for name in kwargs:
            if name not in {"seed"}:
                raise TypeError(name)
        self.cell = cell


class Wide(Cell):
    """Hands over a cell, and has a choice of words that are no keywords."""

    def __init__(self, units: int, mode: str = "one", **kwargs: Any) -> None:
        if mode not in {"one", "other"}:
            raise ValueError(mode)
        super().__init__(units, **kwargs)


def test_the_keywords_of_a_constructor_are_those_that_it_hands_on() -> None:
    assert constructor(Wide) == "units mode= * seed= size="


Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def aliased(names: list[str]) -> Decorator:
    """A decorator that takes another keyword for one of the function."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if names[1] in kwargs:
                kwargs[names[0]] = kwargs.pop(names[1])
            return function(*args, **kwargs)

        return wrapper

    return decorate


def logged(names: list[str]) -> Decorator:
    """A decorator that changes no argument."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            names.append(str(kwargs.get("axis")))
            return function(*args, **kwargs)

        return wrapper

    return decorate


def dispatched(function: Any) -> Any:
    """A decorator that binds the arguments to the parameters before it calls."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(function).bind(*args, **kwargs)
        return function(*bound.args, **bound.kwargs) if "axis" in kwargs else None

    return wrapper


@dispatched
def added(rows: object, more: object, axis: int = 0) -> None:
    """Has no alias."""


@logged(["tensors"])
@aliased(["axis", "dim"])
def joined(rows: object, axis: int = 0) -> None:
    """Has an alias for one parameter."""


@logged(["axis", "dim"])
def stacked(rows: object, axis: int = 0, fill: object = inspect.Signature.empty) -> None:
    """Has none, and a default that looks like none."""


def test_keywords_that_decorators_take_are_known() -> None:
    assert signature(joined) == "rows= axis= * dim="
    assert signature(added) == "rows more axis="
    assert signature(stacked) == "rows axis= fill="
