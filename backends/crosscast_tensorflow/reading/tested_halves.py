"""Switches for float16 that show in a test of gradients for infinities."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_tensorflow.reading.gradient_sums import computes_gradients

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_SWITCH = re.compile(r"fp_?16|float_?16|half|mixed_?prec|\bamp\b|use_amp", re.I)
_TESTS = frozenset({"is_finite", "is_inf", "is_nan"})


def tested_halves(program: Program) -> Iterator[Call]:
    """Yield the tests of gradients for infinities that a switch for float16 decides about.

    Gradients of a model in float32 need no such test.
    """
    for _name, call in calls_of(program):
        given = call.node.args if call.method in _TESTS else ()
        parts = (part for each in given for part, _ in flow_of(each, call.module))
        if not any(map(computes_gradients, parts)):
            continue
        match call.module.enclosing(call.node, ast.If, ast.IfExp):
            case ast.If(test=test, body=then):
                held = {inner for statement in then for inner in walk(statement)}
            case ast.IfExp(test=test, body=value):
                held = {*walk(value)}
            case _:
                continue
        switched = call.node in held and _SWITCH.search(identifier(test))
        if switched and _makes_optimizer(program, call):
            yield call


def _makes_optimizer(program: Program, test: Call) -> bool:
    """Whether the function that tests gradients applies them by an optimizer made there."""
    function = test.module.function_of(test.node)
    for _name, call in calls_of(program):
        match call.node.func:
            case ast.Attribute(value=optimizer, attr="apply_gradients"):
                made = [binding.value for binding in definitions(optimizer, call.module)]
            case _:
                continue
        if test.module.function_of(call.node) is function:
            return bool(made) and all(isinstance(value, ast.Call) for value in made)
    return False
