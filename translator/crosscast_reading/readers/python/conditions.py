"""The conditions under which a piece of a program runs, including those of its callers."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation.choices import certain_truth
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.dead_code import leaves_block
from crosscast_reading.pysource.syntax.truth import is_met
from crosscast_reading.pysource.values.value import Known

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module

_PRECISION = re.compile(
    r"\bamp|amp\b|_amp|fp16|bf16|float16|half|mixed|mxp|precision|dtype|autocast|scale", re.I
)
_DEPTH = 4
_SITES = 8


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition around a node, and whether it must hold."""

    node: ast.expr
    holds: bool
    module: Module
    left: ast.stmt | None = None
    """The earlier statement that leaves the enclosing block if the condition is not met."""

    @property
    def text(self) -> str:
        """The condition as written in facts."""
        text = self.module.text(self.node)[:200]
        if self.holds:
            return text
        simple = isinstance(self.node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        return f"not {text}" if simple else f"not ({text})"

    @property
    def certain(self) -> bool | None:
        """Whether it holds, as far as constants and the launch command alone decide; else None."""
        return is_met(certain_truth(self.node, self.module), self.holds)

    @property
    def default(self) -> bool | None:
        """Whether it holds with the defaults of flags, ignoring defaults of function parameters."""
        match evaluate(self.node, self.module):
            case Known(value=None | bool() | int() | float() | str() | list() | tuple() as value):
                return bool(value) == self.holds
        return None


def conditions(node: ast.AST, module: Module, *, callers: bool = True) -> list[Condition]:
    """Return the conditions around a node, outermost first.

    Args:
        node: a statement or expression.
        module: of it.
        callers: whether to include conditions that hold at all calls of its function.
    """
    return _around(node, module, 0 if callers else _DEPTH)[::-1]


def branches(node: ast.AST, module: Module, *, callers: bool = True) -> list[Condition]:
    """Return the conditions, but of earlier returns only those that concern precision."""
    return [
        test
        for test in conditions(node, module, callers=callers)
        if test.left is None
        or (isinstance(test.left, ast.Return) and _PRECISION.search(test.module.text(test.node)))
    ]


def _around(node: ast.AST, module: Module, depth: int) -> list[Condition]:
    """Return the conditions around a node, innermost first."""
    tests: list[Condition] = []
    child: ast.AST = node
    here = module.parent(node)
    function: Function | None = None
    while here is not None:
        tests += _of_parent(child, here, module)
        if isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
            function = here
            break
        child, here = here, module.parent(here)
    if function is not None and depth < _DEPTH:
        tests += _of_callers(module, function, depth)
    return tests


def _of_parent(child: ast.AST, here: ast.AST, module: Module) -> Iterator[Condition]:
    if isinstance(here, ast.If | ast.IfExp) and child is not here.test:
        body = here.body if isinstance(here.body, list) else [here.body]
        yield Condition(here.test, child in body, module)
    elif isinstance(here, ast.BoolOp):
        for before in itertools.takewhile(lambda value: value is not child, here.values):
            yield Condition(before, isinstance(here.op, ast.And), module)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(here, name, None)
        if not isinstance(block, list) or child not in block:
            continue
        for before in reversed(block[: block.index(child)]):
            if isinstance(before, ast.If) and leaves_block(before.body) and not before.orelse:
                yield Condition(before.test, False, module, before.body[-1])


def _of_callers(module: Module, function: Function, depth: int) -> list[Condition]:
    sites = [
        site
        for site in module.program.call_sites(module, function)
        if site.module.function_of(site.node) is not function
    ]
    if not sites or len(sites) > _SITES:
        return []
    each = [_around(site.node, site.module, depth + 1) for site in sites]
    shared = set.intersection(*({condition.text for condition in tests} for tests in each))
    return [condition for condition in each[0] if condition.text in shared]


def conditions_of(call: Call) -> list[Condition]:
    """Return the conditions of a call, including those of the name it is called by."""
    tests: list[Condition] = []
    for name, module in chase(call.node.func, call.module):
        if not isinstance(name, ast.Name | ast.Attribute):
            continue
        others = list(definitions(name, module))
        for binding in others:
            value = binding.value if binding.kind == "assign" else None
            if isinstance(value, ast.IfExp):
                tests = [*_of_arm(value, call.names, binding.module), *tests]
            elif (
                len(others) > 1
                and value is not None
                and binding.module.resolve(value) in call.names
            ):
                tests = conditions(binding.node, binding.module) + tests
    return tests + conditions(call.node, call.module)


def _of_arm(value: ast.IfExp, names: Iterable[str], module: Module) -> Iterator[Condition]:
    """Yield the test of `autocast if half else nullcontext` that a call of it depends on."""
    wanted = set(names)
    for arm in (value.body, value.orelse):
        if module.resolve(arm) in wanted:
            yield Condition(value.test, arm is value.body, module)


def is_possible(node: ast.AST, module: Module) -> bool:
    """Whether a node can run as far as constants and the launch command tell."""
    return all(condition.certain is not False for condition in branches(node, module))


def reached_by(node: ast.AST, module: Module, depth: int = 0) -> tuple[Span, ...]:
    """Return the places of the calls through which the function around a node is reached."""
    function = module.function_of(node)
    if function is None or depth > 2:
        return ()
    sites = module.program.call_sites(module, function)
    if not 1 <= len(sites) <= 4:
        return ()
    first = sites[0]
    spans = [site.module.span(site.node) for site in sites]
    return (*spans, *reached_by(first.node, first.module, depth + 1))
