"""Schedules whose shape is in functions and classes of the program itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast.facts.fact import Confidence, Fact
from crosscast.messages.diagnostics import Span
from crosscast.pysource.names.containers import chase, definitions
from crosscast.readers.torch.fact_writer import place_of
from crosscast.readers.torch.rates import head_start, results_of, shape_of

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module


@dataclass(slots=True)
class Candidate:
    """One schedule, or part of one."""

    decay: str
    """A word of the vocabulary; empty: the rate does not fall."""
    places: tuple[Span, ...]
    warms: bool = False
    warmup: Fact | None = None
    start: str = ""
    """What makes the first rate of the warm-up more than 0; empty if it is 0 or not known."""
    total: Fact | None = None
    usual: bool | None = None
    """Whether it is the one that runs with the defaults of flags."""
    flag: str = ""
    confidence: Confidence = "certain"
    rising: bool = False
    """Whether it only raises the rate."""
    chained: bool = False
    under: tuple[str, ...] = field(default=())


def by_function(call: Call) -> Candidate:
    """Return LambdaLR: its function tells the shape."""
    node = call.bound().get("lr_lambda") or (call.node.args[1] if len(call.node.args) > 1 else None)
    place = place_of(call)
    if node is None:
        return Candidate("custom", (place,))
    parts = list(bodies_of(node, call.module))
    shape = shape_of([(n, m) for n, m in parts])
    if parts and _may_be_other(node, call.module):
        return Candidate("selectable", (place,), warms=shape.warmup, confidence="likely")
    if not parts:
        return Candidate("custom", (place,), confidence="likely")
    constant = not shape.decay
    decay = "none" if constant else shape.decay
    if shape.warmup and decay == "custom":
        decay = "none"
    start = head_start(parts) if shape.warmup else ""
    return Candidate(decay, (place,), warms=shape.warmup, start=start)


def _may_be_other(node: ast.expr, module: Module) -> bool:
    """Whether one of several functions behind a name is made by what another file defines."""
    program = module.program
    found = [one for one in definitions(node, module) if one.kind == "assign"]
    if program is None or len(found) < 2:
        return False
    return any(
        isinstance(one.value, ast.Call)
        and program.function(one.module.call(one.value)) is None
        and one.module.resolve(one.value.func) != "functools.partial"
        for one in found
    )


def bodies_of(node: ast.expr, module: Module) -> Iterator[tuple[ast.AST, Module]]:
    """Yield what the functions behind an expression return."""
    program = module.program
    for one, where in chase(node, module):
        if isinstance(one, ast.Lambda):
            yield one.body, where
        elif isinstance(one, ast.List | ast.Tuple):
            for element in one.elts[:1]:
                yield from bodies_of(element, where)
        elif isinstance(one, ast.Call) and where.resolve(one.func) == "functools.partial":
            for inner in one.args[:1]:
                yield from bodies_of(inner, where)
        if program is None:
            continue
        for name in where.resolve_all(one) if isinstance(one, ast.Name | ast.Attribute) else ():
            found = program.function_named(name)
            if found is not None:
                yield from ((n, found[0]) for n in results_of(found[1]))


def own_class(call: Call) -> tuple[str, bool] | None:
    """Return the shape of a schedule class that the program defines."""
    program = call.module.program
    if program is None:
        return None
    for name in call.names:
        scope = program.class_named(name)
        if scope is None:
            continue
        methods = [
            (one, scope.module)
            for method in ("get_lr", "_get_lr", "get_last_lr", "lr_at", "step", "__call__")
            if (function := scope.module.functions.get(f"{scope.qualname}.{method}")) is not None
            for one in results_of(function)
        ]
        shape = shape_of(list(methods))
        if shape.decay:
            return shape.decay, shape.warmup
    return None
