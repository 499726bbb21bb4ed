"""Learning rate schedules and their lengths."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.lint.rules._loop import made_by, receiver
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.module import Module
from crosscast.pysource.programs.program import Program
from crosscast.pysource.syntax.nodes import walk
from crosscast.trainstep.events import Event

_LENGTHS = ("num_training_steps", "total_steps", "T_max", "total_iters", "max_iters", "t_total")
_MAKERS = re.compile(
    r"get_\w*schedule(r|_with_\w+)?$|OneCycleLR$|CosineAnnealingLR$|LinearLR$|PolynomialLR$"
)
_DEPTH = 6


def is_schedule(event: Event) -> bool:
    """Whether it is a library's schedule with the interface of PyTorch."""
    node = event.node
    if "by_hand" in event.detail or not isinstance(node, ast.Call):
        return False
    expression = receiver(event)
    if expression is None or not isinstance(node.func, ast.Attribute) or node.func.attr != "step":
        return False
    if "sched" not in event.subject.lower() and "lr" not in event.subject.lower():
        return False
    names = made_by(event, expression)
    program = event.module.program
    for name in names:
        if name.startswith(("paddle", "tensorflow")):
            return False
        if ":" in name and program is not None:
            scope = program.class_named(name)
            if scope is None or "lr_scheduler" not in program.library_base(scope):
                return False
    return not event.module.source.text.count("import paddle")


def makers(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the calls that create a schedule of known length, with the length."""
    for module in program.modules:
        for call in module.calls:
            if not _MAKERS.search(call.name or call.method):
                continue
            given = call.bound()
            for name in _LENGTHS:
                if name in given:
                    yield call, given[name]
                    break


def spelled_out(node: ast.expr, module: Module, depth: int = 0) -> str:
    """Return an expression with names replaced by their assigned values.

    A name with several assignments represents all of them.
    """
    text = module.text(node)
    if depth > _DEPTH:
        return text
    parts = [text]
    for child in walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            home = module.scope_of(child).lookup(child.id)
            for binding in home.bindings.get(child.id, ()) if home is not None else ():
                value = binding.value
                if binding.kind != "assign" or value is None or binding.path:
                    continue
                if not isinstance(value, ast.Call) or _counts(value):
                    parts.append(spelled_out(value, module, depth + 1))
    return " ".join(dict.fromkeys(parts))


def _counts(node: ast.Call) -> bool:
    """Whether a call only computes a number."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    name = node.func.id if isinstance(node.func, ast.Name) else name
    return name in ("len", "int", "ceil", "floor", "max", "min", "round")


def is_prepared(event: Event) -> bool:
    """Whether Accelerate has wrapped the schedule of an event."""
    program = event.module.program
    name = event.subject.rpartition(".")[2]
    for module in program.modules if program is not None else ():
        for call in module.calls:
            if call.method != "prepare":
                continue
            given = [module.text(arg).rpartition(".")[2] for arg in call.node.args]
            if name in given:
                return True
    return False
