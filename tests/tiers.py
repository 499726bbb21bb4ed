"""The two tiers of the tests: `make test` proves every feature once, `make test-all` all of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import pytest

Value = TypeVar("Value")


def exhaustive(reason: str) -> pytest.MarkDecorator:
    """Leave a test to `make test-all`.

    Args:
        reason: what it adds to the tests of `make test`; printed in docs/testing.md.
    """
    return pytest.mark.exhaustive(reason)


PARAM = type(pytest.param(0))


def cases(values: Iterable[Any], quick: Collection[Any], reason: str) -> list[Any]:
    """Return the values of a parametrized test, each in its tier.

    Args:
        values: all values; a tuple is the values of several arguments. A `pytest.param` keeps its
            marks.
        quick: those that `make test` runs.
        reason: what the others add.

    Raises:
        ValueError: a quick value is not among the values.
    """
    params = [value if isinstance(value, PARAM) else _param(value) for value in values]
    found = [param.values if len(param.values) > 1 else param.values[0] for param in params]
    if unknown := [value for value in quick if value not in found]:
        raise ValueError(f"no such cases: {unknown}")
    return [
        param if value in quick else param._replace(marks=[*param.marks, exhaustive(reason)])
        for value, param in zip(found, params, strict=True)
    ]


def _param(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)))


class Lazy(dict[str, Value]):
    """What a module's tests share, by name; each is made when it is first asked for."""

    def __init__(self, make: Callable[[str], Value]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> Value:
        self[name] = self._make(name)
        return self[name]


def with_exhaustive(request: pytest.FixtureRequest) -> bool:
    """Tell whether tests of this module that are left to `make test-all` are selected."""
    items = [item for item in request.session.items if item.path == request.path]
    return any(item.get_closest_marker("exhaustive") for item in items)


def selected(request: pytest.FixtureRequest, argument: str) -> list[Any]:
    """Return the values of an argument that the selected tests of this module have, in order.

    For fixtures that prepare all cases at once: they prepare those that are asked for.
    """
    found: dict[Any, None] = {}
    for item in request.session.items:
        spec = getattr(item, "callspec", None)
        if item.path == request.path and spec is not None and argument in spec.params:
            found[spec.params[argument]] = None
    return list(found)
