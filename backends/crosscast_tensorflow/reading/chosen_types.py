"""Types that an expression can name, and the one that it names with the defaults of flags."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.flags.reading import flag_read
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.python.conditions import Condition, branches
from crosscast_reading.readers.python.default_conditions import truth_by_default
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.readers.python.precision import types_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_POLICIES = ("Policy", "DTypePolicy")
_HOPS = 4


@dataclass(frozen=True, slots=True)
class Chosen:
    """What names a type may stand for."""

    types: tuple[str, ...]
    default: str
    """Empty if it is not known."""


def chosen_types(node: ast.expr, module: Module) -> Chosen:
    """Return the types behind the name of a type or policy: conditions, tables, flags."""
    return Chosen(tuple(dict.fromkeys(_named(node, module, 0))), _by_default(node, module, 0))


def conditions_of_half(node: ast.expr, module: Module) -> list[Condition]:
    """Return the conditions under which an expression names a half type, if another one is there.

    `if half: name = "mixed_float16"`, `else: name = "float32"`, then `Policy(name)`.
    """
    places = list(_constants(node, module))
    halves = [place for place in places if {*types_in(Known(place[0].value))} & {*HALVES}]
    if len(halves) != 1 or len(places) == 1:
        return []
    return branches(*halves[0], callers=False)


def _constants(
    node: ast.expr, module: Module, hops: int = 0
) -> Iterator[tuple[ast.Constant, Module]]:
    """Yield the texts that an expression may be."""
    for here, where in chase(node, module) if hops <= _HOPS else ():
        inner = _policy_name(here, where)
        if inner is not None:
            yield from _constants(inner, where, hops + 1)
        if isinstance(here, ast.Constant):
            yield here, where


def _named(node: ast.expr, module: Module, hops: int) -> Iterator[str]:
    """Yield the types that an expression may name."""
    for here, where in chase(node, module) if hops <= _HOPS else ():
        inner = _policy_name(here, where)
        if inner is not None:
            yield from _named(inner, where, hops + 1)
        match here:
            case ast.Constant(value=value):
                yield from types_in(Known(value))
            case ast.Subscript(value=table) if not isinstance(here.slice, ast.Constant):
                for entries, home in chase(table, where):
                    for value in getattr(entries, "values", ()):
                        yield from _named(value, home, hops + 1)
        if (flag := flag_read(here, where)) is not None:
            for choice in flag.choices:
                yield from types_in(Known(choice))


def _policy_name(node: ast.expr, module: Module) -> ast.expr | None:
    """Return the argument with the name of a policy; None for anything but a policy."""
    if not isinstance(node, ast.Call) or last(module.call(node).name) not in _POLICIES:
        return None
    return module.call(node).bound().get("name", next(iter(node.args), None))


def _by_default(node: ast.expr, module: Module, hops: int) -> str:
    """Return the type that an expression names with the defaults of flags; empty if unknown."""
    value = evaluate(node, module)
    if isinstance(value, Known | Unknown):
        named = types_in(value)
        if named:
            return named[0]
    if hops >= _HOPS:
        return ""
    if isinstance(node, ast.IfExp):
        met = truth_by_default(node.test, module)
        arm = node.body if met else node.orelse
        return "" if met is None else _by_default(arm, module, hops + 1)
    inner = _policy_name(node, module)
    if inner is not None:
        return _by_default(inner, module, hops + 1)
    match definitions(node, module) if isinstance(node, ast.Name) else ():
        case [Binding(kind="assign", value=ast.expr() as assigned) as binding]:
            return _by_default(assigned, binding.module, hops + 1)
    return ""
