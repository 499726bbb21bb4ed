"""Evaluate conditions under the default values of command-line flags."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation.conditions import truth
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.truth import is_combination, is_met, of_combination
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.conditions import Condition, conditions
from crosscast_reading.readers.python.origins import flag_behind

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

DEVICE = re.compile(r"cuda|gpu|device|is_available|torch\.version|\bcpu\b", re.I)
"""Words of conditions about the machine."""
_HOPS = 4


def holds_by_default(condition: Condition, depth: int = 0) -> bool | None:
    """Whether a condition holds with the defaults of flags; None if unknown."""
    return is_met(truth_by_default(condition.node, condition.module, depth), condition.holds)


def is_sure(call: Call, others: Sequence[Call]) -> bool:
    """Whether a call runs with the defaults of flags, wherever one of several runs."""
    shared = [{test.text for test in _around(other)} for other in others]
    return all(
        holds_by_default(test) is True
        for test in _around(call)
        if not all(test.text in texts for texts in shared)
    )


def _around(call: Call) -> list[Condition]:
    return conditions(call.node, call.module, callers=False)


def truth_by_default(node: ast.expr, module: Module, depth: int = 0) -> bool | None:
    """Return the value of a condition with the defaults of flags on a machine with a GPU.

    Args:
        node: the condition.
        module: of the condition.
        depth: number of conditionally assigned names followed so far.
    """
    if is_combination(node):
        return of_combination(node, lambda part: truth_by_default(part, module, depth))
    answers = (answer(node, module, depth) for answer in _ANSWERS)
    return next((value for value in answers if value is not None), None)


def _of_flag(node: ast.expr, module: Module, _depth: int) -> bool | None:
    flag = flag_behind(node, module)
    match flag.value if flag is not None else None:
        case Known(value=value):
            return bool(value)
    return None


def _of_evaluation(node: ast.expr, module: Module, _depth: int) -> bool | None:
    return truth(node, module)


def _of_device(node: ast.expr, module: Module, _depth: int) -> bool | None:
    """Return whether a device is there, or is the one that is asked for."""
    match node:
        case ast.Call(func=ast.Name(id="is_available") | ast.Attribute(attr="is_available")):
            return True
        case ast.Compare() if re.search(r"[=i][=s] *['\"](cuda|gpu)", module.text(node)):
            return True
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as sign], comparators=[ast.Constant("cpu")]):
            return isinstance(sign, ast.NotEq)
    return None


def _by_assignment(node: ast.expr, module: Module, depth: int) -> bool | None:
    """Return the value of `mode == "native"` from the assignments that run by default."""
    if depth >= _HOPS:  # `if not done: done = True` refers to itself
        return None
    wanted: object = None
    match node:
        case ast.Name() as name:
            pass
        case ast.Compare(
            left=ast.Name() as name, ops=[ast.Eq()], comparators=[ast.Constant(value=wanted)]
        ):
            pass
        case _:
            return None
    bindings = list(definitions(name, module))
    values = [binding.value for binding in bindings if binding.kind == "assign"]
    if not all(isinstance(value, ast.Constant) for value in values):
        return None
    never: list[bool] = []
    for binding in bindings:
        value = binding.value.value if isinstance(binding.value, ast.Constant) else None
        if (value == wanted) if wanted is not None else bool(value):
            around = conditions(binding.node, binding.module, callers=False)
            never.append(any(holds_by_default(test, depth + 1) is False for test in around))
    return False if never and all(never) else None


def _compared(node: ast.expr, module: Module, _depth: int) -> bool | None:
    """Return whether a setting filled by a flag equals a constant."""
    match node:
        case ast.Compare(
            left=left,
            ops=[ast.Eq() | ast.NotEq() as how],
            comparators=[ast.Constant(value=other)],
        ):
            flag = flag_behind(left, module)
            match flag.value if flag is not None else None:
                case Known(value=value):
                    return (value == other) is isinstance(how, ast.Eq)
    return None


def exists_by_default(node: ast.expr, module: Module, depth: int = 0) -> bool | None:
    """Return the value of `scaler is not None` with the defaults of flags; None if unknown.

    Args:
        node: the comparison; any other expression is unknown.
        module: of it.
        depth: number of conditionally assigned names followed so far.
    """
    match node:
        case ast.Compare(
            left=left, ops=[ast.Is() | ast.IsNot() as how], comparators=[ast.Constant(value=None)]
        ):
            return is_met(_made(left, module, depth), isinstance(how, ast.IsNot))
    return None


_ANSWERS = (exists_by_default, _compared, _of_flag, _by_assignment, _of_evaluation, _of_device)
"""What may tell whether a condition holds with the defaults of flags, surer ones first."""


def _made(node: ast.expr, module: Module, depth: int) -> bool | None:
    if depth >= _HOPS:  # `if scaler is None: scaler = GradScaler()` refers to itself
        return None
    bindings = list(definitions(node, module))
    match bindings:
        case [Binding(kind="parameter", node=ast.arg())]:
            given = module.program.arguments_for(bindings[0])
            answers = {_made(inner, where, depth + 1) for inner, where in given}
            return answers.pop() if len(answers) == 1 else None
    made = [binding for binding in bindings if isinstance(binding.value, ast.Call)]
    empty = [b for b in bindings if isinstance(b.value, ast.Constant) and b.value.value is None]
    if not empty or len(made) + len(empty) < len(bindings):
        return None
    answers = {
        runs_by_default(binding.node, binding.module, callers=False, depth=depth + 1)
        for binding in made
    }
    return answers.pop() if len(answers) == 1 else None


def runs_by_default(
    node: ast.AST, module: Module, *, callers: bool = True, depth: int = 0
) -> bool | None:
    """Whether a node is reached with the defaults of flags; None if unknown.

    A check that ends the program counts as passed, because nothing is trained otherwise.

    Args:
        node: a statement or expression.
        module: of it.
        callers: whether to include the conditions of all calls of its function.
        depth: number of conditionally assigned names followed so far.
    """
    answers = {
        holds_by_default(test, depth)
        for test in conditions(node, module, callers=callers)
        if not isinstance(test.left, ast.Raise | ast.Expr)
    }
    return next((answer for answer in (False, None) if answer in answers), True)
