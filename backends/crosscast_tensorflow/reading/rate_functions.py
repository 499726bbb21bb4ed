"""Learning rates that are functions without arguments, which read a variable of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import value_of
from crosscast_reading.readers.python.optimizers import OptimizerCall, course_facts, rate_of
from crosscast_reading.readers.python.schedules import Course

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.scopes import Binding

WAITS = re.compile(r"plateau|patience|improv|best", re.I)
"""Words of conditions that wait for a loss to get better."""
_EPOCH = re.compile(r"epoch", re.I)


def rate_functions(optimizers: Iterable[OptimizerCall], reader: str) -> Iterator[Fact]:
    """Yield the first rate of optimizers with such a rate, and how a loop changes it."""
    told = False
    for optimizer in optimizers:
        node, module = rate_of(optimizer.call), optimizer.call.module
        variable = _variable(node, module.owner_of(node)) if node is not None else None
        if variable is None:
            continue
        course = by_hand(variable, module.owner_of(variable), optimizer.subject, reader)
        for fact in course:
            if fact.field == "optimizer.learning_rate" or not told:
                yield fact
        told = told or len(course) > 1


def by_hand(variable: ast.Name, module: Module, subject: str, reader: str) -> list[Fact]:
    """Return the first value of a rate in a variable, and the course if a loop multiplies it."""
    facts: list[Fact] = []
    bound = [b for b in definitions(variable, module) if b.value is not None]
    begins = [b for b in bound if _loop_of(b) is None]
    begun = value_of(begins[0].value, begins[0].module) if len(begins) == 1 else None
    if begun is not None:
        span = begins[0].module.span(begins[0].node)
        facts.append(
            fact_of("optimizer.learning_rate", begun, span, subject=subject, reader=reader)
        )
    for binding in bound:
        loop = _loop_of(binding)
        if loop is not None and _is_scaled(binding, variable.id):
            where = binding.module
            head = loop.test if isinstance(loop, ast.While) else loop.target
            per = "epoch" if _EPOCH.search(where.text(head)) else "step"
            course = Course(_word(binding))
            facts += course_facts(course, reader, where.span(binding.node), stepped=per)
            break
    return facts


def calls_cosine(node: ast.AST) -> bool:
    """Whether a part of a formula is a cosine: `tf.cos(pi * step / total)`."""
    return isinstance(node, ast.Call) and identifier(node.func) == "cos"


def _variable(rate: ast.expr, module: Module) -> ast.Name | None:
    """Return the variable that `def rate(): return variable` reads, or a lambda."""
    bound = definitions(rate, module) if isinstance(rate, ast.Name) else []
    made = (bound[0].value or bound[0].node) if len(bound) == 1 else rate
    returned: list[ast.expr | None] = []
    if isinstance(made, ast.Lambda):
        returned = [made.body]
    elif isinstance(made, ast.FunctionDef):
        returned = [node.value for node in walk(made) if isinstance(node, ast.Return)]
    if not isinstance(made, ast.Lambda | ast.FunctionDef) or made.args.args:
        return None
    match returned:
        case [ast.Name() as variable]:
            return variable
    return None


def _loop_of(binding: Binding) -> ast.For | ast.While | None:
    loop = binding.module.enclosing(binding.node, ast.For, ast.While)
    return loop if isinstance(loop, ast.For | ast.While) else None


def _is_scaled(binding: Binding, name: str) -> bool:
    """Whether a variable is multiplied or divided: `rate = rate * 0.5`, `rate *= 0.5`."""
    match binding.node, binding.value:
        case ast.AugAssign(op=ast.Mult() | ast.Div()), _:
            return True
        case _, ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return name in (getattr(left, "id", ""), getattr(right, "id", ""))
    return False


def _word(binding: Binding) -> str:
    """Return the kind of a course: in steps of so many rounds, when nothing improves, or other."""
    around = binding.module.enclosing(binding.node, ast.If)
    if not isinstance(around, ast.If):
        return "custom"
    if any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in walk(around.test)
    ):
        return "step"
    return "plateau" if WAITS.search(binding.module.text(around.test)) else "custom"
