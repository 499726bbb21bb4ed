"""Reads the losses whose gradients a program takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast_jax.reading.names import (
    GRADIENTS,
    NAME,
    decorations,
    first_argument,
    given_function,
)
from crosscast_reading.facts.fact import unknown
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import calls_of, canonical
from crosscast_reading.readers.python.losses import returned_losses
from crosscast_reading.readers.python.module_words import function_calls

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_LEAVES = re.compile(r"\b(tree_)?leaves(_with_path)?\b")
_SQUARES = re.compile(r"\*\* ?2|square|l2_loss|norm\(|vdot")
_OF_ALL = re.compile(
    r"jax\.flatten_util\.ravel_pytree|optax\.global_norm|optax\.(tree_utils\.tree_|tree\.)(l2_)?norm"
)
"""Functions of all weights at once; within a loss they make a penalty."""
_DEPTH = 2


def loss_facts(program: Program, optimizers: Iterable[str]) -> Iterator[Fact]:
    """Yield the facts about what the differentiated functions return.

    Args:
        program: of which gradients are taken.
        optimizers: the subjects of its optimizers, whose decay a penalty in the loss would be.
    """
    hooks = dict.fromkeys(_differentiated(program))
    if hooks:
        yield from returned_losses(hooks, 0, NAME)
    for module, function in hooks:
        place = _penalty(module, function, _DEPTH)
        if place is not None:
            reason = "the loss has a penalty on the weights"
            for subject in optimizers:
                for field in ("optimizer.weight_decay", "optimizer.no_decay"):
                    yield unknown(field, reason, place, subject=subject, reader=NAME)
            return


def _differentiated(program: Program) -> Iterator[tuple[Module, Function]]:
    """Yield the functions of the program whose gradients are taken."""
    for name, call in calls_of(program):
        if GRADIENTS.fullmatch(name) or call.method == "value_and_grad":
            loss = first_argument(call)
            definition = given_function(loss, call.module) if loss is not None else None
            if definition is not None and not isinstance(definition[1], ast.Lambda):
                yield definition[0], definition[1]
    for module in program.modules:
        for function in module.functions.values():
            if any(GRADIENTS.fullmatch(name) for name, _ in decorations(function, module)):
                yield module, function


def _penalty(module: Module, function: Function, depth: int) -> Span | None:
    """Return where squares of all weights are summed up within a loss; None if nowhere."""
    for node in walk(function):
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            over = module.text(node.generators[0].iter)
            leaves = _LEAVES.search(over) or _comes_from_leaves(node.generators[0].iter, module)
            if leaves and _SQUARES.search(module.text(node.elt)):
                return module.span(node)
    for call in function_calls(function, module):
        if any(_OF_ALL.fullmatch(canonical(name)) for name in call.names):
            return module.span(call.node)
        inner = module.program.function(call) if depth else None
        place = _penalty(*inner, depth - 1) if inner is not None else None
        if place is not None:
            return place
    return None


def _comes_from_leaves(node: ast.expr, module: Module) -> bool:
    return any(
        isinstance(part, ast.Call) and bool(_LEAVES.search(where.text(part.func)))
        for part, where in chase(node, module)
    )
