"""Losses that are means on one branch of a condition, and something unread on the others."""

from __future__ import annotations

import ast

from crosscast_reading.lint.answers.reduction import reduction_by
from crosscast_reading.lint.answers.windows import ACCUMULATES
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.answers.differentiated import loss_expression
from crosscast_reading.trainstep.events import Event


def is_mean_on_a_branch(backward: Event) -> bool:
    """Whether one branch of a condition makes a loss a mean, whatever the others make it.

    A condition about accumulation, or one that the backward pass stands under as well, says
    nothing: the branch may be the one without windows.
    """
    loss = loss_expression(backward)
    bindings = definitions(loss, backward.module) if isinstance(loss, ast.Name) else ()
    for binding in bindings:
        others = [other for other in bindings if other is not binding]
        tests = [_parting(binding, other) for other in others]
        texts = {ast.unparse(test) for test in tests if test is not None}
        asked = {ast.unparse(guard.node) for guard in backward.guards}
        if not others or None in tests or texts & asked or any(map(ACCUMULATES.search, texts)):
            continue
        assert isinstance(loss, ast.Name)
        if any(map(_gets_window, others)):
            continue
        if reduction_by(binding, loss, backward) == "mean":
            return True
    return False


def _gets_window(binding: Binding) -> bool:
    """Whether what makes a loss gets the number of micro-batches, and may divide by it."""
    value, module = binding.value, binding.module
    calls = [each for each in walk(value) if isinstance(each, ast.Call)] if value else []
    arguments = [part for each in calls for part in (*each.args, *(k.value for k in each.keywords))]
    return any(ACCUMULATES.search(module.text(part)) for part in arguments)


def _parting(first: Binding, second: Binding) -> ast.expr | None:
    """Return the condition on whose branches two assignments stand; None: on one branch."""
    module = first.module
    child: ast.AST = first.node
    parent = module.parent(child) if module is second.module else None
    while parent is not None:
        if isinstance(parent, ast.If):
            other = parent.orelse if child in parent.body else parent.body
            if any(second.node is node for statement in other for node in walk(statement)):
                return parent.test
        child, parent = parent, module.parent(parent)
    return None
