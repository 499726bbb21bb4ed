"""Types that an expression can name, and the one that it names with the defaults of flags."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.facts.vocabulary import HALVES
from crosscast.pysource.flags.reading import flag_read
from crosscast.pysource.names.containers import chase, definitions
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.values.value import Known, Unknown
from crosscast.readers.python.conditions import Condition, branches
from crosscast.readers.python.default_conditions import truth_by_default
from crosscast.readers.python.library_calls import last
from crosscast.readers.python.precision import types_in

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module

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
    found = [word for here, where in chase(node, module) for word in _named(here, where)]
    return Chosen(tuple(dict.fromkeys(found)), _by_default(node, module, 0))


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
    if hops > _HOPS:
        return
    for here, where in chase(node, module):
        if isinstance(here, ast.Constant):
            yield here, where
        elif isinstance(here, ast.Call) and last(where.call(here).name) in _POLICIES:
            inner = _policy_name(here, where)
            yield from _constants(inner, where, hops + 1) if inner is not None else ()


def _named(node: ast.expr, module: Module) -> Iterator[str]:
    """Yield the types that an expression names itself."""
    if isinstance(node, ast.Constant):
        yield from types_in(Known(node.value))
    elif isinstance(node, ast.Call) and last(module.call(node).name) in _POLICIES:
        inner = _policy_name(node, module)
        yield from chosen_types(inner, module).types if inner is not None else ()
    elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        for table, where in chase(node.value, module):
            for value in table.values if isinstance(table, ast.Dict) else ():
                yield from chosen_types(value, where).types
    elif (flag := flag_read(node, module)) is not None:
        for choice in flag.choices:
            yield from types_in(Known(choice))


def _policy_name(call: ast.Call, module: Module) -> ast.expr | None:
    """Return the argument with the name of a policy."""
    return module.call(call).bound().get("name") or next(iter(call.args), None)


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
    if isinstance(node, ast.Call) and last(module.call(node).name) in _POLICIES:
        inner = _policy_name(node, module)
        return _by_default(inner, module, hops + 1) if inner is not None else ""
    found = list(definitions(node, module)) if isinstance(node, ast.Name) else []
    if len(found) == 1 and found[0].kind == "assign" and found[0].value is not None:
        return _by_default(found[0].value, found[0].module, hops + 1)
    return ""
