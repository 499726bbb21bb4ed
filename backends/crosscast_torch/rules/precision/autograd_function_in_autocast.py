"""CL403: a custom autograd function under autocast without custom_fwd."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.autocast import is_on
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Function
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject

_DECLARES = re.compile(r"custom_fwd|\bamp\b|autocast")
_MULTIPLIES = ("matmul", "mm", "bmm", "linear", "conv2d", "einsum", "addmm", "baddbmm")


def check(subject: Subject) -> Iterator[Finding]:
    """Find functions with matrix products in forward and no declaration for autocast."""
    program = subject.program
    if not any(
        context.kind == "autocast" and is_on(context)
        for step in eager_steps(subject)
        for event in step.of("forward")
        for context in event.contexts
    ):
        return
    for module in program.modules:
        for name, node in module.classes.items():
            if "torch.autograd.Function" not in [module.resolve(base) for base in node.bases]:
                continue
            forward = module.functions.get(f"{name}.forward")
            if forward is None or not _multiplies(forward) or _is_declared(forward):
                continue
            if f"{node.name}.apply" in module.source.text:
                yield Finding(
                    span=module.span(node),
                    message=f"{node.name} does not specify its dtype under autocast",
                    hint="decorate forward with custom_fwd and backward with custom_bwd",
                )


def _multiplies(function: ast.AST) -> bool:
    for node in walk(function):
        match node:
            case ast.BinOp(op=ast.MatMult()):
                return True
            case ast.Attribute(attr=name) if name in _MULTIPLIES:
                return True
    return False


def _is_declared(function: Function) -> bool:
    return bool(_DECLARES.search(ast.unparse(function)))


RULE = Rule("CL403", check, hints=("autograd.Function", "Function)"))
