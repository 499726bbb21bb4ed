"""CL511: a schedule that ends at the rate it starts from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, fixed, last, value_of
from crosscast_reading.sources.subject import Subject

_ENDS = {
    "paddle.": {
        "CosineAnnealingDecay": ("learning_rate", "eta_min"),
        "PolynomialDecay": ("learning_rate", "end_lr"),
    },
    "keras.": {"PolynomialDecay": ("initial_learning_rate", "end_learning_rate")},
}
"""Library to schedules that go from one rate to another, and the arguments for both."""
_FLOORED = ("paddle.optimizer.lr.PolynomialDecay", "optimizers.schedules.PolynomialDecay")
"""Schedules that end at a rate of their own if no other is given."""
_FLOOR = 1e-4
_HOPS = 8


def check(subject: Subject) -> Iterator[Finding]:
    """Find decays whose last rate is certainly their first one."""
    for name, call in calls_of(subject.program):
        library = next((each for each in _ENDS if name.startswith(each)), None)
        ends = _ENDS[library].get(last(name)) if library is not None else None
        if ends is None:
            continue
        match [call.bound().get(argument) for argument in ends]:
            case [ast.expr() as first, None] if name.endswith(_FLOORED):
                yield from _above_the_start(first, ends[1], call)
            case [ast.expr() as first, ast.expr() as floor] if _are_same(first, floor, call):
                yield Finding(
                    span=call.module.span(floor),
                    message=f"{ends[1]} is the rate that the schedule starts from: it never "
                    "changes the learning rate",
                    hint="pass the rate that the schedule should end at",
                    related=(call.module.span(first),),
                )


def _above_the_start(first: ast.expr, end: str, call: Call) -> Iterator[Finding]:
    """Find a schedule that starts no higher than at the rate where it ends by default."""
    start = evaluate(first, call.module)
    if not isinstance(start, Known) or type(start.value) not in (int, float) or _has_more(call):
        return
    assert isinstance(start.value, int | float)
    if 0 < start.value <= _FLOOR:
        where = f" by default ({start.flag})" if start.flag else ""
        then = "never changes" if start.value == _FLOOR else "rises"
        yield Finding(
            span=call.module.span(call.node),
            message=f"{end} is {_FLOOR} if it is not given, and the schedule starts at "
            f"{start.value:g}{where}: the learning rate {then}",
            hint=f"pass {end}=0.0, or the rate that the schedule should end at",
        )


def _has_more(call: Call) -> bool:
    """Whether a call has arguments that are not written out."""
    arguments = (*call.node.args, *call.node.keywords)
    return any(isinstance(each, ast.Starred) or _is_unpacked(each) for each in arguments)


def _is_unpacked(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg is None


def _are_same(first: ast.expr, floor: ast.expr, call: Call) -> bool:
    """Whether two arguments of one call are the same number, or the same setting."""
    start, end = (fixed(value_of(node, call.module)) for node in (first, floor))
    if isinstance(start, int | float):
        return start == end
    settings = [_setting(node, call.module) for node in (first, floor)]
    return settings[0] is not None and settings[0] == settings[1]


def _setting(node: ast.expr, module: Module) -> tuple[Module, str] | None:
    """Return the name or attribute that an expression only repeats: `rate` for `lr = rate`."""
    for _ in range(_HOPS):
        match node:
            case ast.Attribute():
                return module, module.text(node)
            case ast.Name():
                bindings = definitions(node, module)
            case _:
                return None
        match bindings:
            case [Binding(assigned=ast.expr() as value, module=where)]:
                node, module = value, where
            case [] | [_]:
                return module, module.text(node)
            case _:
                return None
    return None


RULE = Rule("CL511", check, hints=("eta_min", "end_lr", "end_learning_rate", "PolynomialDecay"))
