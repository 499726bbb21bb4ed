"""Positional arguments that are another parameter in Keras 3 get their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import insert_before
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical, value_of
from crosscast_tensorflow.migration.experimental.keras_names.orders import (
    BASES,
    COMPILE,
    LOAD_WEIGHTS,
    NEWER,
    ORDERS,
    SAME,
)
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.receivers import is_model

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_METHODS = {"compile": COMPILE, "load_weights": LOAD_WEIGHTS}


def positions(module: Module, program: Program, out: Outcomes) -> None:
    """Name the arguments from the first one that would be another parameter."""
    for call in module.calls:
        if module.is_dead(call.node) or any(name.startswith("tf_keras.") for name in call.names):
            continue
        for name, (first, order) in _orders(call, program):
            _named(call, name, first, order, out)


def _orders(call: Call, program: Program) -> Iterator[tuple[str, tuple[int, tuple[str, ...]]]]:
    """Yield the function that a call certainly runs, and its old order."""
    if call.method in _METHODS and call.receiver is not None:
        mine = program.function(call) is None and is_model(call.receiver, call.module, program)
        if mine:
            yield call.method, _METHODS[call.method]
        return
    name = _base_of(call, program)
    if not name:
        names = {SAME.get(name, name) for name in map(canonical, call.names)}
        name = names.pop() if len(names) == 1 else ""
    if name in ORDERS:
        yield name, ORDERS[name]


def _base_of(call: Call, program: Program) -> str:
    """Return the class of Keras whose constructor `super().__init__` runs; empty if none."""
    function = call.node.func
    if not isinstance(function, ast.Attribute) or function.attr != "__init__":
        return ""
    inner = function.value
    if not (isinstance(inner, ast.Call) and call.module.text(inner.func) == "super"):
        return ""
    owner = call.module.class_of(call.node)
    scope = call.module.scopes.get(owner) if owner is not None else None
    if scope is None or program.function(call) is not None:
        return ""
    base = canonical(program.library_base(scope))
    base = SAME.get(base, base)
    return base if base in BASES else ""


def _named(call: Call, name: str, first: int, order: tuple[str, ...], out: Outcomes) -> None:
    module, given = call.module, call.node.args
    if len(given) <= first or _is_newer(name, given[first], module):
        return
    if any(isinstance(argument, ast.Starred) for argument in given) or len(given) > len(order):
        out.refuse(
            module,
            call.node,
            f"the positional arguments of {name.removeprefix('keras.')} have another order in "
            "Keras 3, and these are not certain",
            f"pass them by name, from {order[first]} on",
        )
        return
    out.edits += [
        insert_before(module, argument, f"{order[place]}=")
        for place, argument in enumerate(given)
        if place >= first
    ]


def _is_newer(name: str, argument: ast.expr, module: Module) -> bool:
    """Whether an argument shows that the program has the order of the last Keras 2."""
    value = value_of(argument, module)
    return isinstance(value, Known) and type(value.value) in NEWER.get(name, ())
