"""CL801: several optimizers of Paddle with one scaler."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_paddle.answers.amp import methods
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find scalers that step two optimizers in one function."""
    program = subject.program
    groups: dict[tuple[object, str], list[Call]] = {}
    for call in (*methods(program, "step"), *methods(program, "minimize")):
        given = call.node.args[0] if call.node.args else None
        if call.receiver is None or not isinstance(given, ast.Name | ast.Attribute | ast.Subscript):
            continue
        function = call.module.function_of(call.node) or call.module.tree
        groups.setdefault((function, call.module.text(call.receiver)), []).append(call)
    for calls in groups.values():
        first = calls[0]
        for other in calls[1:]:
            if _name(other) != _name(first) and not _apart(first, other):
                yield Finding(
                    span=other.module.span(other.node),
                    message=f"{_name(first)} and {_name(other)} share a scaler with a single "
                    "overflow flag: an overflow in one of them is missed or makes the other "
                    "NaN",
                    hint="use one optimizer with several parameter groups, or give each optimizer "
                    "its own GradScaler and backward pass",
                    related=(first.module.span(first.node),),
                )
                break


def _name(call: Call) -> str:
    return call.module.text(call.node.args[0])


def _apart(call: Call, other: Call) -> bool:
    """Whether the two are in different branches."""
    mine = {c.node: c.holds for c in branches(call.node, call.module)}
    return any(
        mine.get(c.node, c.holds) != c.holds for c in branches(other.node, other.module)
    ) or isinstance(call.module.parent(call.node), ast.IfExp)


RULE = Rule("CL801", check, hints=("GradScaler", "AmpScaler"))
