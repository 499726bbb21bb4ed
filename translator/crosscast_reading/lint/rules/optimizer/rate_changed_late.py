"""CL514: a learning rate is changed after the optimizer was made with the old one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.names.references import references
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

_SHOWS = frozenset({"print", "info", "debug", "warning", "format"})
_LOGS = re.compile(r"\blog|wandb|writer", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find variables that gave an optimizer its rate and are set again for nothing."""
    for name, call in calls_of(subject.program):
        if not has_role(name, "optimizer"):
            continue
        bound = call.bound()
        rate = bound.get("lr") or bound.get("learning_rate")
        if isinstance(rate, ast.Name):
            for late in _set_later(rate, call):
                yield Finding(
                    span=call.module.span(late),
                    message=f"{rate.id} changes after {call.method} was made with the old value, "
                    "and nothing but messages uses the new one",
                    hint="compute the rate before the optimizer is made",
                    related=(call.module.span(call.node),),
                )


def _set_later(rate: ast.Name, call: Call) -> Iterator[ast.AST]:
    """Yield the assignments behind an optimizer whose value nobody uses."""
    module, uses = call.module, references(rate.id, rate, call.module)
    if uses is None or module.scope_of(call.node) is not uses.scope:
        return
    if _is_repeated(call.node, module) or uses.is_shared or uses.is_open or uses.is_handed_on:
        return
    for binding in uses.bound_after(call.node):
        node, reads = binding.node, uses.reads_of(binding)
        late = _is_changed(node, rate.id) and not _is_repeated(node, module)
        if late and all(_is_shown(read, module) for read in reads):
            yield node


def _is_changed(node: ast.AST, name: str) -> bool:
    """Whether a line changes the value of a name, not binds another, such as the current rate."""
    match node:
        case ast.AugAssign():
            return True
        case ast.Assign(targets=[ast.Name()], value=value):
            return _is_scaled(value, name)
    return False


def _is_scaled(value: ast.expr, name: str) -> bool:
    """Whether a value is the old one times or divided by something: `rate * processes`."""
    match value:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _is_scaled(left, name) or _is_scaled(right, name)
        case ast.Name(id=word):
            return word == name
    return False


def _is_repeated(node: ast.AST, module: Module) -> bool:
    """Whether a loop may run something again, so that what follows may come before."""
    return module.enclosing(node, ast.For, ast.While) is not None


def _is_shown(node: ast.AST, module: Module) -> bool:
    around = module.parent(node)
    while isinstance(around, ast.FormattedValue | ast.JoinedStr):
        around = module.parent(around)
    if not isinstance(around, ast.Call):
        return False
    call = module.call(around)
    return call.method in _SHOWS or (
        call.method == "log" and bool(_LOGS.search(call.receiver_text))
    )


RULE = Rule("CL514", check, hints=("optim",))
