"""Functions that step once a window and return whether they did: `if helper.backward(loss):`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.events import Event, Guard

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module


def with_returned_windows(events: Sequence[Event]) -> list[Event]:
    """Return events whose guards know that they ask for the end of a window.

    A function of the program answers with it where it returns true exactly where the optimizer
    steps.
    """
    ends = [event for event in events if event.kind == "step" and event.window is not None]
    if not any(event.calls for event in ends):
        return list(events)
    return [
        replace(event, guards=tuple(_told(guard, event, ends) for guard in event.guards))
        for event in events
    ]


def asks_the_step(guard: Guard, event: Event, ends: Sequence[Event]) -> bool:
    """Whether a condition asks what a function returned in which an optimizer steps."""
    module = event.module.owner_of(guard.node)
    call = _asked(guard.node, module)[0]
    return call is not None and any(call in end.calls for end in ends)


def _told(guard: Guard, event: Event, ends: Sequence[Event]) -> Guard:
    if guard.window is not None:
        return guard
    call, positive = _asked(guard.node, event.module.owner_of(guard.node))
    for end in ends:
        answer = _answer_of(end.calls.index(call), end) if call in end.calls else None
        if answer is not None:
            assert end.window is not None
            window = replace(end.window, positive=positive == answer, inverted=False)
            return replace(guard, window=window)
    return guard


def _asked(node: ast.expr, module: Module) -> tuple[ast.Call | None, bool]:
    """Return the call whose result a condition is, and whether it must be true."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        call, positive = _asked(node.operand, module)
        return call, not positive
    if isinstance(node, ast.Name):
        values = [binding.assigned for binding in definitions(node, module)]
        node = values[0] if len(values) == 1 and values[0] is not None else node
    return (node, True) if isinstance(node, ast.Call) else (None, True)


def _answer_of(place: int, end: Event) -> bool | None:
    """Return the answer of a call exactly where a step happens in it; None if that is not known.

    Args:
        place: position of the call in `end.calls`.
        end: the step.
    """
    inner: ast.AST = end.calls[place + 1] if place + 1 < len(end.calls) else end.node
    module = end.module.owner_of(inner)
    function = module.function_of(inner)
    if function is None:
        return None
    guards = [g for g in end.guards if g.window is not None and g.at_end]
    branch = _branch(inner, function, module, {id(g.node) for g in guards})
    answers = list(_answers(function, module))
    values = [value for value, _ in answers if value is not None]
    if branch is None:  # the step is in a function that this one calls
        called = isinstance(inner, ast.Call) and values == [inner]
        return _answer_of(place + 1, end) if called else None
    tests = {g.text for g in guards if g.holds}
    signs = {
        module.text(value) in tests or None
        if value is not None and not isinstance(value, ast.Constant)
        else bool(getattr(value, "value", False)) == (id(at) in branch)
        for value, at in answers
    }
    if signs == {False} and not any(id(at) in branch for _, at in answers):
        return None  # what is returned behind the branch is returned in all rounds
    return signs.pop() if values and len(signs) == 1 else None


def _branch(
    node: ast.AST, function: Function, module: Module, tests: set[int]
) -> frozenset[int] | None:
    """Return the identities of the nodes that run at the end of a window alone."""
    child, here = node, module.parent(node)
    while here is not None and here is not function:
        if isinstance(here, ast.If) and id(here.test) in tests:
            return _nodes(here.body if child in here.body else here.orelse)
        child, here = here, module.parent(here)
    for place, statement in enumerate(function.body):
        if isinstance(statement, ast.If) and id(statement.test) in tests:
            return _nodes(function.body[place + 1 :])  # after `if more: return False`
    return None


def _nodes(statements: Sequence[ast.stmt]) -> frozenset[int]:
    return frozenset(id(node) for statement in statements for node in walk(statement))


def _answers(function: Function, module: Module) -> Iterator[tuple[ast.expr | None, ast.AST]]:
    """Yield the values that a function returns, with the place that decides on each."""
    scope = module.scopes.get(function)
    for returned in scope.returns if scope is not None else ():
        values = definitions(returned.value, module) if isinstance(returned.value, ast.Name) else ()
        if values and all(isinstance(b.assigned, ast.Constant) for b in values):
            yield from ((binding.assigned, binding.node) for binding in values)
        else:
            yield returned.value, returned
