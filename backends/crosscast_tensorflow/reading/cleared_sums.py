"""Where a sum of gradients begins again, if its own function shows that."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.value_flow import flow_of, root_of
from crosscast_tensorflow.reading.gradient_sums import GradientSum
from crosscast_tensorflow.reading.session_runs import runs_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call

Place = tuple[str, "Span"]
_ANEW = re.compile(
    r"zeros|\b(\w+)\.assign_sub\(\1\)|^None$|^\[\]$|^0(\.0*)?$|\* ?0(\.0*)?(?![\w.])"
)
"""What is assigned to a sum, or done to its parts, when it begins again."""


def cleared_in_place(sums: Sequence[GradientSum]) -> Place | None:
    """Return whether a function resets the sum before its loop or after the update."""
    for total in sums[:1]:
        function = total.module.function_of(total.node)
        loop = _loop_of(total)
        if function is None or loop is None:
            return None
        places = list(_anew(total, function))
        ends = [
            applied.node.lineno
            for applied in total.every
            if applied.module is total.module and total.module.function_of(applied.node) is function
        ]
        for node in places:
            if any(end < node.lineno <= (loop.end_lineno or end) for end in ends):
                return "after_step", total.module.span(node)
        for node in places:
            if node.lineno < loop.lineno:
                return "window_start", total.module.span(node)
    return None


def cleared_behind_runs(sums: Sequence[GradientSum]) -> Place | None:
    """Return where a session sets the sum of a graph to zero behind the run that applies it."""
    for total in sums[:1]:
        program = total.module.program
        if total.applied is None:
            return None
        updates = [call for call, _ in runs_of(total.applied.node, program)]
        for call in zeroing(total):
            for run, _ in runs_of(call.node, program):
                if any(_is_behind(run, update) for update in updates):
                    return "after_step", run.module.span(run.node)
    return None


def zeroing(total: GradientSum) -> Iterator[Call]:
    """Yield the assignments of zeros to a sum, or to its parts: `assign(part, zeros)`."""
    module = total.module
    for call in module.calls:
        given = call.node.args
        if call.method != "assign" or not given or "zeros" not in module.text(given[-1]):
            continue
        target = given[0] if len(given) > 1 else call.receiver
        parts = flow_of(target, module) if target is not None else ()
        named = [(p, w) for p, w in parts if isinstance(p, ast.Name | ast.Attribute)]
        if any(total.root in (where.text(part), root_of(part, where)) for part, where in named):
            yield call


def _is_behind(run: Call, update: Call) -> bool:
    """Whether a function runs something after an update."""
    module = run.module
    if module is not update.module:
        return False
    same = module.function_of(run.node) is module.function_of(update.node)
    return same and run.node.lineno > update.node.lineno


def _loop_of(total: GradientSum) -> ast.For | ast.While | None:
    """Return the innermost loop around addition and update, or the outermost around the first."""
    module = total.module
    ends = [a.node for a in total.every if a.module is module]
    loop: ast.For | ast.While | None = None
    here: ast.AST | None = module.parent(total.node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.For | ast.While):
            loop = here
            if any(inner in ends for inner in walk(here)):
                break
        here = module.parent(here)
    return loop


def _anew(
    total: GradientSum, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[ast.Assign | ast.Call]:
    """Yield where a function gives the sum, or each part of it, a value of zero."""
    module = total.module
    for node in walk(function):
        match node:
            case ast.Assign(targets=[target], value=value) if module.text(target) == total.root:
                if _ANEW.search(module.text(value)) and "assign_add" not in module.text(value):
                    yield node
            case ast.Call(func=ast.Attribute(value=of, attr="assign"), args=[value]):
                if root_of(of, module) == total.root and _ANEW.search(module.text(value)):
                    yield node
            case ast.Call(func=ast.Attribute(value=of, attr="assign_sub"), args=[value]):
                if root_of(of, module) == total.root and module.text(value) == module.text(of):
                    yield node
