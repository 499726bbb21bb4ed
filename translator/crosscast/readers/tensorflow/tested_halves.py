"""Switches for float16 that show in a test of gradients for infinities."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.pysource.names.containers import definitions
from crosscast.pysource.syntax.nodes import identifier
from crosscast.readers.python.library_calls import calls_of
from crosscast.readers.python.value_flow import flow_of
from crosscast.readers.tensorflow.gradient_sums import computes_gradients

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.program import Program

_SWITCH = re.compile(r"fp_?16|float_?16|half|mixed_?prec|\bamp\b|use_amp", re.I)
_TESTS = frozenset({"is_finite", "is_inf", "is_nan"})


def tested_halves(program: Program) -> Iterator[Call]:
    """Yield the tests of gradients for infinities that a switch for float16 decides about.

    Gradients of a model in float32 need no such test.
    """
    for _name, call in calls_of(program):
        if call.method not in _TESTS or not call.node.args:
            continue
        if not any(computes_gradients(part) for part, _ in flow_of(call.node.args[0], call.module)):
            continue
        here = call.module.enclosing(call.node, ast.If, ast.IfExp)
        if here is None or call.node not in ast.walk(_then(here)):
            continue
        test = here.test  # type: ignore[attr-defined]
        named = isinstance(test, ast.Name | ast.Attribute) and _SWITCH.search(identifier(test))
        if named and _makes_optimizer(program, call):
            yield call


def _then(node: ast.AST) -> ast.AST:
    """Return the part of a condition that runs if it holds."""
    if isinstance(node, ast.IfExp):
        return node.body
    assert isinstance(node, ast.If)
    return ast.Module(body=node.body, type_ignores=[])


def _makes_optimizer(program: Program, test: Call) -> bool:
    """Whether the function that tests gradients applies them by an optimizer made there."""
    function = test.module.function_of(test.node)
    for _name, call in calls_of(program):
        if call.method != "apply_gradients" or call.receiver is None:
            continue
        if call.module is test.module and call.module.function_of(call.node) is function:
            made = [b.value for b in definitions(call.receiver, call.module)]
            return bool(made) and all(isinstance(value, ast.Call) for value in made)
    return False
