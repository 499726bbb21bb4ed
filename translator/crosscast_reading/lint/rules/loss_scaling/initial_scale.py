"""CL212: a wrong initial loss scale."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.emitted.script import is_emitted
from crosscast_reading.sources.subject import Subject

_NAME = re.compile(r"^-*init(ial)?_(loss_)?scal(e|ing)$")


def check(subject: Subject) -> Iterator[Finding]:
    """Find initial scales that are texts, not powers of two, below 1, or computed with `^`.

    Emitted scripts have the values of their recipe, for which `crosscast check` warns.
    """
    emitted = is_emitted(subject.program.modules)
    for node, module in _initial_scales(subject):
        value = evaluate(node, module)
        number = value.value if isinstance(value, Known) and not emitted else None
        problem, severity = _problem(node, number)
        if problem:
            yield Finding(
                span=module.span(node),
                message=f"{module.text(node)} {problem}",
                hint="write `2.0**16`",
                severity=severity,
            )


def _initial_scales(subject: Subject) -> Iterator[tuple[ast.expr, Module]]:
    """Yield the program's initial scales: arguments, entries, defaults of flags."""
    for module in subject.program.modules:
        for call in module.calls:
            for name, node in call.bound().items():
                if _NAME.search(name):
                    yield node, module
            match call.node:
                case ast.Call(func=ast.Attribute(attr="add_argument"), args=[flag, *_]) as node:
                    named = _NAME.search(str(getattr(flag, "value", "")))
                    default = keyword(node, "default") if named else None
                    yield from ((default, module),) if default is not None else ()
        for display in module.every(ast.Dict):
            for key, value in zip(display.keys, display.values, strict=True):
                if _NAME.search(str(getattr(key, "value", ""))):
                    yield value, module


def _problem(node: ast.expr, value: object) -> tuple[str, Severity | None]:
    match node, value:
        case ast.BinOp(op=ast.BitXor()), _:
            shown = f" ({value})" if isinstance(value, int) else ""
            return f"is no power: ^ is exclusive or{shown}", None
        case ast.Constant(), str() if value[:1].isdigit():
            return "is a text and not a number", None
        case _, bool():
            pass
        case _, int() | float() if not 1 <= value < math.inf:
            return "makes gradients smaller, or none at all", None
        case _, int() | float() if math.frexp(value)[0] != 0.5:
            return "is not a power of two, so scaling rounds every gradient", Severity.NOTE
    return "", None


RULE = Rule(
    "CL212", check, hints=("init_scale", "init_loss_scal", "initial_scale", "initial_loss_scale")
)
