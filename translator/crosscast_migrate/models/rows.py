"""Rows of the tables of layers: how one framework says what a neutral layer is."""

from __future__ import annotations

import ast
import re
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


_WORD = re.compile(
    r"(?P<name>\w+)(:(?P<setting>\w+))?((?P<sign>==?)(?P<default>\S+)|(?P<ignored>\?))?"
)


def arguments(*parts: str | Argument) -> tuple[Argument, ...]:
    """Return the arguments of a signature, in their order.

    Args:
        parts: Arguments, or texts with some of them in words: `units` is required and the setting
            of the same name, `p:rate=0.5` is the setting `rate` with a default, `beta==1` must have
            its default, `name?` does not change what is computed. No default has a blank.
    """
    rows: list[Argument] = []
    for part in parts:
        rows += map(_argument, part.split()) if isinstance(part, str) else [part]
    return tuple(rows)


def _argument(word: str) -> Argument:
    match = _WORD.fullmatch(word)
    if match is None:
        raise ValueError(f"{word!r} is no argument")
    name, sign = match["name"], match["sign"]
    if match["ignored"]:
        return Argument(name, "_", None)
    default = ast.literal_eval(match["default"]) if sign else REQUIRED
    return Argument(name, "" if sign == "==" else match["setting"] or name, default)


def reading(
    kind: str,
    *parts: str | Argument,
    tensors: int = 1,
    call: tuple[str | Argument, ...] = (),
    note: str = "",
    **fixed: Any,
) -> Reading:
    """Return a row: see `Reading`, and `arguments` for its parts."""
    return Reading(kind, arguments(*parts), fixed, tensors, arguments(*call), note)


def calls(**layers: str) -> dict[str, tuple[str, ...]]:
    """Return how layers are written, from texts of their calls: the class and its arguments."""
    parts = {kind: text.removesuffix(")").partition("(") for kind, text in layers.items()}
    return {kind: (made, *given.split(", ")) for kind, (made, _, given) in parts.items()}


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
