"""Rows of the tables of layers: how one framework says what a neutral layer is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

REQUIRED: Any = object()
"""Instead of a default: the argument must be given."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a layer or function, in the order of its signature."""

    name: str
    setting: str = ""
    """The neutral setting; empty for an argument that must have its default."""
    default: Any = REQUIRED
    convert: Callable[[Any], Any] | None = None
    """From the framework's value to the neutral one."""
    others: tuple[str, ...] = ()
    """Names in other versions."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a call of a library creates or computes."""

    kind: str
    arguments: tuple[Argument, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the name implies."""
    inputs: int = 1
    """Of a function: number of tensors before the arguments; 0 for one argument that is a list."""
    call: tuple[Argument, ...] = ()
    """Arguments of the call of a layer, where it takes more than one value."""
    note: str = ""
    """What of it no other framework has, as a part of a sentence; told where it is carried."""


def complement(value: float) -> float:
    """Return the share of the running statistics that is kept, from the share that is new."""
    return round(1.0 - value, 12)


def ignored(*names: str) -> tuple[Argument, ...]:
    """Return arguments that do not change what is computed."""
    return tuple(Argument(name, "_", None) for name in names)


def must(name: str, default: Any) -> Argument:
    """Return an argument that must have its default."""
    return Argument(name, "", default)


ARITHMETIC: Mapping[str, str] = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "part": "{0}[{part}]",
    "slice": "{0}[{parts}]",
    "scale": "{0}{scaled}",
    "power": "{0} ** {exponent}",
    "compare": "{0} {compared}",
    "not": "~{0}",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "values": "{all}",
}
"""Operations that are written with operators, where a framework's tensors have them."""
