"""CL510: the global step of TensorFlow 1 advances in the update and once more behind it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.loop import literals
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import keyword, walk
from crosscast_reading.readers.python.conditions import conditions
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_OF_LIBRARY = re.compile(
    r"tensorflow\.(compat\.v1\.)?(train\.\w*Optimizer"
    r"|python\.training\.(optimizer\.Optimizer|\w+\.\w+Optimizer))"
)
"""Optimizers of TensorFlow 1 that add 1 to the step which `apply_gradients` gets."""
_ADDS = re.compile(r"\bglobal_step\.assign_add\(1\b|\bassign_add\(global_step, 1\b")
"""What an optimizer with an `apply_gradients` of its own does if it advances the step as well."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find additions to a step that an optimizer has advanced already."""
    program = subject.program
    for _name, call in calls_of(program):
        step = _step_of(call)
        if step is None:
            continue
        function = call.module.function_of(call.node) or call.module.tree
        text = call.module.text(step)
        for added in _advances(text, function, call.module):
            makers = [m for m in _makers(call) if _can_meet(m.node, added, call.module)]
            if any({_counts(n, program) for n in maker.names} == {True} for maker in makers):
                yield Finding(
                    span=call.module.span(added),
                    message=f"{text} advances by 2: {call.method} gets it and adds 1 already",
                    hint=f"remove this line, or do not pass {text} to {call.method}",
                    related=(call.module.span(call.node),),
                )


def _step_of(call: Call) -> ast.expr | None:
    """Return the step that an update gets: `global_step=step`."""
    match call.node.func, keyword(call.node, "global_step"):
        case (
            ast.Attribute(attr="apply_gradients" | "minimize"),
            (ast.Name() | ast.Attribute()) as step,
        ):
            return step
    return None


def _advances(step: str, function: ast.AST, module: Module) -> Iterator[ast.Call]:
    """Yield where a function adds 1: `step.assign(step + 1)`, `tf.assign_add(step, 1)`."""
    for node in walk(function):
        match node:
            case (
                ast.Call(func=ast.Attribute(value=to, attr="assign_add"), args=[ast.Constant(1)])
                | ast.Call(func=ast.Attribute(attr="assign_add"), args=[to, ast.Constant(1), *_])
            ) as call:
                adds = True
            case (
                ast.Call(func=ast.Attribute(value=to, attr="assign"), args=[value])
                | ast.Call(func=ast.Attribute(attr="assign"), args=[to, value, *_])
            ) as call:
                adds = f"{step} + 1" in [ast.unparse(part) for part, _ in flow_of(value, module)]
            case _:
                continue
        if adds and module.text(to) == step:
            yield call


def _makers(call: Call) -> list[Call]:
    """Return the calls that may have created the optimizer of an update; none if others may."""
    assert call.receiver is not None
    bound = definitions(call.receiver, call.module)
    makers = [b.module.call(b.assigned) for b in bound if isinstance(b.assigned, ast.Call)]
    return makers if len(makers) == len(bound) else []


def _can_meet(maker: ast.Call, added: ast.Call, module: Module) -> bool:
    """Whether both can happen in the same run, by the conditions around them."""
    mine = dict(_conditions(maker, module))
    others = dict(_conditions(added, module))
    if any(mine.get(text, holds) != holds for text, holds in others.items()):
        return False
    values = dict(_equal_to(mine))
    return all(values.get(name, value) == value for name, value in _equal_to(others))


def _equal_to(holding: dict[str, bool]) -> Iterator[tuple[str, str]]:
    """Yield the names that are equal to a value, with the value."""
    for text, holds in holding.items():
        name, sign, value = text.partition(" == ")
        if sign and holds:
            yield name, value


def _conditions(node: ast.AST, module: Module) -> Iterator[tuple[str, bool]]:
    for test in conditions(node, module, callers=False):
        yield from literals(test.node, test.holds)


def _counts(name: str, program: Program) -> bool:
    """Whether the optimizers of a class certainly add 1 to the step that they get."""
    if _OF_LIBRARY.fullmatch(name):
        return True
    scope = program.class_named(name)
    if scope is None:
        return False
    if "apply_gradients" in scope.bindings:
        return bool(_ADDS.search(ast.unparse(scope.node)))
    inherited = program.bases(scope)
    return len(inherited) == 1 and bool(_OF_LIBRARY.fullmatch(program.library_base(scope)))


RULE = Rule("CL510", check, hints=("global_step",), needs_training=False)
