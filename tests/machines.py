"""Functions of sources computed by every domain of the machine, and by Python itself."""

from __future__ import annotations

import ast
import math
import sys
import textwrap
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from crosscast.messages.source import Source
from crosscast_migrate.models.graph import Graph
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.machine import ModelMachine
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import Opaque
from crosscast_reading.pysource.machine.frames import Closure, Nothing
from crosscast_reading.pysource.machine.numbers import NumberMachine
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.project import read_program
from crosscast_reading.pysource.values.budget import Budget, NoValueError
from crosscast_reading.pysource.values.value import Instance, Unknown

_LARGE = 2000
NO_ANSWER = object()
"""The machine does not know."""


class _Empty:
    """A world of which nothing is known."""

    def read(self, node: ast.expr, module: Module) -> object:
        raise NoValueError

    def length(self, node: ast.expr, module: Module) -> int:
        raise NoValueError


def module_of(text: str) -> Module:
    """Return a program of one file."""
    program, problems = read_program([Source("main.py", text)])
    assert problems == ()
    return program.modules[0]


def computed_as_numbers(text: str, steps: int = 400_000) -> Any:
    """Return what `f` of a text returns in the domain of plain values."""
    module = module_of(text)
    machine = NumberMachine(_Empty())
    machine.budget = Budget(steps, machine.budget.calls)
    try:
        return machine.run_function(_function(module), ())
    except NoValueError:
        return NO_ANSWER


def computed_as_model(text: str, steps: int = 400_000) -> Any:
    """Return what `f` of a text returns in the domain of layers and shapes."""
    module = module_of(text)
    tables = model_tables()["torch"]
    assert tables.reading is not None
    machine = ModelMachine(module.program, tables.reading, Graph(tables))
    machine.budget = Budget(steps, machine.budget.calls)
    try:
        found = machine.run_function(_function(module), ())
    except UnreadableError:
        return NO_ANSWER
    return NO_ANSWER if isinstance(found, Opaque) else found


DOMAINS = {"numbers": computed_as_numbers, "model": computed_as_model}


def computed_by_python(text: str) -> Any:
    """Return what `f` of a text returns in Python; of trusted texts only.

    Raises:
        OverflowError: a variable becomes large.
    """
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(text, "<test>", "exec"), names)
    before = sys.gettrace()
    sys.settrace(_watch)
    try:
        return names["f"]()
    finally:
        sys.settrace(before)


def _watch(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
    for value in frame.f_locals.values():
        if isinstance(value, int) and abs(value) > _LARGE:
            raise OverflowError
        if isinstance(value, str | list | tuple) and len(value) > _LARGE:
            raise OverflowError
    return _watch


def function(body: str, parameters: str = "") -> str:
    """Return a function `f` with a body."""
    return f"def f({parameters}):\n{textwrap.indent(body.strip(), '    ')}\n"


def is_same(one: Any, other: Any) -> bool:
    """Whether a result is another one as far as it is known, with the types of all parts."""
    return _is_same(one, other, frozenset())


def _is_same(one: Any, other: Any, around: frozenset[tuple[int, int]]) -> bool:
    """Compare two results within others; a container may hold itself."""
    if isinstance(one, Nothing | Opaque | Instance | Unknown):
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple | dict):
        pair = (id(one), id(other))
        if pair in around:
            return True  # compared further out
        parts, others = (list(v.items() if isinstance(v, dict) else v) for v in (one, other))
        within = around | {pair}
        return len(parts) == len(others) and all(
            _is_same(part, same, within) for part, same in zip(parts, others, strict=True)
        )
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


def _function(module: Module) -> Closure:
    node = next(each for each in module.tree.body if isinstance(each, ast.FunctionDef))
    return Closure(node, module)
