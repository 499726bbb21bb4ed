"""CL812: a number in the place of a schedule is stepped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.supposed import can_be_met, comes_round
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Choice, Known
from crosscast_reading.readers.python.conditions import conditions
from crosscast_reading.sources.subject import Subject

_METHODS = frozenset({"step", "get_lr", "get_last_lr", "get_cur_lr"})
"""What programs call of schedules, and no number has."""
_TESTS = ("isinstance", "hasattr", "type(", "float")


def check(subject: Subject) -> Iterator[Finding]:
    """Find receivers of `step` that are numbers in some case that the conditions allow."""
    program = subject.program
    seen: set[tuple[str, ast.AST | None]] = set()
    for call in program.calls():
        if call.method not in _METHODS or call.receiver is None or _is_tried(call):
            continue
        place = (call.receiver_text, call.module.function_of(call.node))
        case = _number(call) if place not in seen else None
        if case is not None:
            seen.add(place)
            yield Finding(
                span=call.module.span(call.node),
                message=f"{call.receiver_text} is a number{case} and has no method {call.method}: "
                "the call raises an exception",
                hint="make a schedule, or do not call it there",
            )


def _number(call: Call) -> str | None:
    """Return when the receiver is a number, as text; None if it is none."""
    assert call.receiver is not None
    value = evaluate(call.receiver, call.module)
    if _is_number(value):
        return ""
    if not isinstance(value, Choice):
        return None
    around = conditions(call.node, call.module)
    if any(word in test.text for test in around for word in _TESTS):
        return None
    wanted = [((test.node, test.module), test.holds) for test in around]
    for text, option in value.options:
        node = _parsed(text) if _is_number(option) else None
        if node is None:
            continue
        always = all(comes_round(part) for part, _ in wanted)
        if always or can_be_met([((node, call.module), True), *wanted]):
            return f" where {text}"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, Known) and type(value.value) in (int, float)


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _is_tried(call: Call) -> bool:
    return call.module.enclosing(call.node, ast.Try) is not None


RULE = Rule("CL812", check, hints=("step(",), needs_training=False)
