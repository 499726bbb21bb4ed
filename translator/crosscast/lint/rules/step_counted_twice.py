"""CL510: the global step of TensorFlow 1 advances in the update and once more behind it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import changed
from crosscast.lint.rules._keras import program_of
from crosscast.lint.rules._loop import literals
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.names.containers import definitions
from crosscast.pysource.syntax.nodes import identifier, walk
from crosscast.readers.python.library_calls import calls_of
from crosscast.readers.python.value_flow import flow_of
from crosscast.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program
    from crosscast.pysource.programs.scopes import Scope

_UPDATES = frozenset({"apply_gradients", "minimize"})
_OF_LIBRARY = re.compile(
    r"tensorflow\.(compat\.v1\.)?(train\.\w*Optimizer"
    r"|python\.training\.(optimizer\.Optimizer|\w+\.\w+Optimizer))"
)
"""Optimizers of TensorFlow 1 that add 1 to the step which `apply_gradients` gets."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find additions to a step that an optimizer has advanced already."""
    program = program_of(subject)
    if program is None:
        return
    seen: set[ast.AST] = set()
    for _name, call in calls_of(program):
        step = _step_of(call)
        function = call.module.function_of(call.node)
        if step is None or function is None or call.node in seen:
            continue
        seen.add(call.node)
        text = call.module.text(step)
        for added in _advances(text, function, call.module):
            makers = [m for m in _makers(call) if _can_meet(m, added, call.module)]
            if makers and any(_counts(maker, program) for maker in makers):
                yield Finding(
                    span=call.module.span(added),
                    message=f"{text} advances by 2: {call.method} gets it and adds 1 already",
                    hint=f"remove this line, or do not pass {text} to {call.method}",
                    related=(call.module.span(call.node),),
                )


def _step_of(call: Call) -> ast.expr | None:
    """Return the step that an update gets: `global_step=step`."""
    if call.method not in _UPDATES or call.receiver is None:
        return None
    given = next((k.value for k in call.node.keywords if k.arg == "global_step"), None)
    return given if isinstance(given, ast.Name | ast.Attribute) else None


def _advances(step: str, function: ast.AST, module: Module) -> Iterator[ast.Call]:
    """Yield where a function adds 1: `step.assign(step + 1)`, `tf.assign_add(step, 1)`."""
    for node in walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        method = node.func.attr
        given = [node.func.value, *node.args] if len(node.args) == 1 else node.args
        if method not in ("assign", "assign_add") or not given or module.text(given[0]) != step:
            continue
        by = given[1] if len(given) > 1 else None
        if by is not None and (
            _is_one(by) if method == "assign_add" else _is_next(by, step, module)
        ):
            yield node


def _is_next(value: ast.expr, step: str, module: Module) -> bool:
    """Whether a value is the step plus 1, or that under a condition."""
    return any(
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Add)
        and where.text(part.left) == step
        and _is_one(part.right)
        for part, where in flow_of(value, module)
    )


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _makers(call: Call) -> list[ast.Call]:
    """Return the calls that may have created the optimizer of an update, in its function."""
    assert call.receiver is not None
    module = call.module
    function = module.function_of(call.node)
    bound = [
        b
        for b in definitions(call.receiver, module)
        if b.module is module and b.value is not None and b.value.lineno < call.node.lineno
    ]
    if any(not isinstance(b.value, ast.Call) for b in bound):
        return []
    made = [b.value for b in bound if isinstance(b.value, ast.Call)]
    certain = [m for m in made if module.parent(module.statement_of(m) or m) is function]
    last = max((m.lineno for m in certain), default=0)
    return [m for m in made if m.lineno >= last]


def _can_meet(maker: ast.Call, added: ast.Call, module: Module) -> bool:
    """Whether both can happen in the same run, by the conditions around them."""
    mine = dict(_conditions(maker, module))
    others = dict(_conditions(added, module))
    if any(mine.get(text, holds) != holds for text, holds in others.items()):
        return False
    values = dict(_equal_to(mine))
    return all(values.get(name, value) == value for name, value in _equal_to(others))


def _equal_to(holding: dict[str, bool]) -> Iterator[tuple[str, str]]:
    """Yield what is compared with a constant, and the constant, if it is equal."""
    for text, holds in holding.items():
        name, sign, value = text.partition(" == ")
        if sign and holds and value[:1] in "'\"0123456789":
            yield name, value


def _conditions(node: ast.AST, module: Module) -> Iterator[tuple[str, bool]]:
    child, here = node, module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef):
        if isinstance(here, ast.If) and child is not here.test:
            yield from literals(here.test, child in here.body)
        child, here = here, module.parent(here)


def _counts(maker: ast.Call, program: Program) -> bool:
    """Whether the optimizers of a class certainly add 1 to the step that they get."""
    call = next((c for _, c in calls_of(program) if c.node is maker), None)
    if call is None or len(call.names) != 1:
        return False
    if _OF_LIBRARY.fullmatch(call.name):
        return True
    scope = program.class_named(call.name)
    if scope is None:
        return False
    own = scope.bindings.get("apply_gradients")
    if own:
        return all(_own_counts(binding.node, scope) for binding in own)
    inherited = program.bases(scope)
    return len(inherited) == 1 and bool(_OF_LIBRARY.fullmatch(program.library_base(scope)))


def _own_counts(method: ast.AST | None, scope: Scope) -> bool:
    """Whether a class adds 1 to the step that its `apply_gradients` gets, in any method."""
    if not isinstance(method, ast.FunctionDef):
        return False
    names = {argument.arg for argument in method.args.args}
    return "global_step" in names and any(
        isinstance(node, ast.Call)
        and identifier(node.func) == "assign_add"
        and any(_is_one(argument) for argument in node.args)
        and any(isinstance(n, ast.Name) and n.id == "global_step" for n in walk(node))
        for node in ast.walk(scope.node)
    )


_RIGHT = """\
import tensorflow.compat.v1 as tf


def train_op(loss, rate, steps):
    step = tf.train.get_or_create_global_step()
    rate = tf.train.polynomial_decay(rate, step, steps)
    optimizer = tf.train.MomentumOptimizer(rate, 0.9)
    pairs = optimizer.compute_gradients(loss)
    return optimizer.apply_gradients(pairs, global_step=step)
"""

RULE = Rule(
    code="CL510",
    name="step-counted-twice",
    topic="schedule",
    severity=Severity.WARNING,
    title="The global step advances twice per update",
    why="`apply_gradients` and `minimize` of TensorFlow 1 add 1 to the `global_step` they get. A "
    "further assignment makes schedules, windows and the end of training come up to twice as "
    "early. The line is right only behind an optimizer that overrides `apply_gradients` and "
    "ignores the step, as the one published with BERT does.",
    wrong=changed(
        _RIGHT,
        (
            "    return optimizer.apply_gradients(pairs, global_step=step)\n",
            "    update = optimizer.apply_gradients(pairs, global_step=step)\n"
            "    return tf.group(update, step.assign(step + 1))\n",
        ),
    ),
    right=_RIGHT,
    check=check,
    hints=("global_step",),
    needs_training=False,
    sources=("TensorFlow 2.15, python/training/optimizer.py",),
)
