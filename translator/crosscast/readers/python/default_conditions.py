"""Evaluate conditions under the default values of command-line flags."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast.pysource.evaluation.conditions import truth
from crosscast.pysource.names.containers import definitions
from crosscast.pysource.syntax.truth import is_combination, is_met, of_combination
from crosscast.pysource.values.value import Known
from crosscast.readers.python.conditions import Condition, conditions
from crosscast.readers.python.origins import flag_behind

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.scopes import Binding

DEVICE = re.compile(r"cuda|gpu|device|is_available|torch\.version|\bcpu\b", re.I)
"""Words of conditions about the machine."""
_HOPS = 4


def holds_by_default(condition: Condition, depth: int = 0) -> bool | None:
    """Whether a condition holds with the defaults of flags; None if unknown."""
    return is_met(truth_by_default(condition.node, condition.module, depth), condition.holds)


def is_sure(call: Call, others: Sequence[Call]) -> bool:
    """Whether a call runs with the defaults of flags, wherever one of several runs."""
    shared = [{test.text for test in _around(other)} for other in others if other is not call]
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
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        made = exists_by_default(node, module, depth)
        if made is not None:
            return made
        compared = _compared(node, module)
        if compared is not None:
            return compared
    flag = flag_behind(node, module)
    value = (flag.given or flag.default) if flag is not None else None
    found = bool(value.value) if isinstance(value, Known) else None
    if found is None:
        found = _by_assignment(node, module, depth)
    if found is None:
        found = truth(node, module)
    if found is None and DEVICE.search(module.text(node)):
        text = module.text(node)
        if isinstance(node, ast.Compare) and re.search(r"[=i][=s] *['\"](cuda|gpu)", text):
            return True
        if "is_available" in text and isinstance(node, ast.Call):
            return True
        match node:
            case ast.Compare(
                ops=[ast.Eq() | ast.NotEq() as sign], comparators=[ast.Constant("cpu")]
            ):
                return isinstance(sign, ast.NotEq)
    return found


def _by_assignment(node: ast.expr, module: Module, depth: int) -> bool | None:
    """Return the value of `mode == "native"` from the assignments that run by default."""
    if depth >= _HOPS:  # `if not done: done = True` refers to itself
        return None
    name: ast.expr = node
    wanted: object = None
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = node.comparators[0]
        if not isinstance(node.ops[0], ast.Eq) or not isinstance(other, ast.Constant):
            return None
        name, wanted = node.left, other.value
    found = list(definitions(name, module)) if isinstance(name, ast.Name) else []
    values = [binding.value for binding in found if binding.kind == "assign"]
    if len(values) < 2 or not all(isinstance(value, ast.Constant) for value in values):
        return None
    met: set[bool | None] = set()
    for binding in found:
        value = binding.value.value if isinstance(binding.value, ast.Constant) else None
        if (value == wanted) if wanted is not None else bool(value):
            around = conditions(binding.node, binding.module, callers=False)
            met.add(
                False
                if any(holds_by_default(test, depth + 1) is False for test in around)
                else None
            )
    return False if met == {False} else None


def _compared(node: ast.Compare, module: Module) -> bool | None:
    """Return whether a setting filled by a flag equals a constant."""
    flag = flag_behind(node.left, module)
    other = node.comparators[0]
    if flag is None or not isinstance(other, ast.Constant):
        return None
    value = flag.given or flag.default
    if not isinstance(value, Known) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return None
    return (value.value == other.value) is isinstance(node.ops[0], ast.Eq)


def exists_by_default(node: ast.Compare, module: Module, depth: int = 0) -> bool | None:
    """Return the value of `scaler is not None` with the defaults of flags; None if unknown.

    Args:
        node: the comparison.
        module: of it.
        depth: number of conditionally assigned names followed so far.
    """
    other, how = node.comparators[0], node.ops[0]
    nothing = isinstance(other, ast.Constant) and other.value is None
    if not nothing or not isinstance(how, ast.Is | ast.IsNot):
        return None
    return is_met(_made(node.left, module, 0, depth), isinstance(how, ast.IsNot))


def _made(node: ast.expr, module: Module, hops: int, depth: int) -> bool | None:
    if not isinstance(node, ast.Name | ast.Attribute) or hops > _HOPS:
        return None
    if depth >= _HOPS:  # `if scaler is None: scaler = GradScaler()` refers to itself
        return None
    found = list(definitions(node, module))
    if len(found) == 1 and found[0].kind == "parameter":
        return _given(found[0], hops, depth)
    values = [binding.value for binding in found if binding.kind == "assign"]
    empty = [v for v in values if isinstance(v, ast.Constant) and v.value is None]
    if len(values) < 2 or len(values) != len(found) or not empty:
        return None
    answers = {
        runs_by_default(binding.node, binding.module, callers=False, depth=depth + 1)
        for binding in found
        if isinstance(binding.value, ast.Call)
    }
    if len(answers) != 1 or len(empty) + sum(isinstance(v, ast.Call) for v in values) < len(values):
        return None
    return answers.pop()


def _given(binding: Binding, hops: int, depth: int) -> bool | None:
    program = binding.module.program
    if program is None or not isinstance(binding.node, ast.arg):
        return None
    given = program.arguments_for(binding, binding.node.arg)
    answers = {_made(inner, where, hops + 1, depth) for inner, where in given}
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
    answer: bool | None = True
    for test in conditions(node, module, callers=callers):
        if isinstance(test.left, ast.Raise | ast.Expr):
            continue
        met = holds_by_default(test, depth)
        if met is False:
            return False
        if met is None:
            answer = None
    return answer
