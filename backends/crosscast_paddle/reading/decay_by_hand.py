"""Weight decay that a Paddle program applies itself after `minimize`: `param - lr * decay * param`.

It changes the weights and not the gradients, so it is decoupled, whatever the optimizer is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import parts_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.module import Module

_DECAY = frozenset({"decay", "wd"})
_RATE = frozenset({"lr", "rate", "learning"})


@dataclass(frozen=True, slots=True)
class DecayByHand:
    """A decay that is subtracted from the weights."""

    factor: ast.expr
    place: Span
    spares: bool
    """Whether a condition leaves some weights out."""


def decay_by_hand(module: Module) -> DecayByHand | None:
    """Return the decay that a module subtracts from the weights after an update, if any."""
    for node in module.every(ast.BinOp):
        if not isinstance(node.op, ast.Sub) or module.is_dead(node):
            continue
        factors = list(_factors(node.right))
        decay = next((f for f in factors if parts_of(identifier(f)) & _DECAY), None)
        rated = any(parts_of(identifier(f)) & _RATE for f in factors if f is not decay)
        loop = _loop(node, module)
        if decay is None or not rated or loop is None:
            continue
        spares = any(isinstance(inner, ast.Continue) for inner in walk(loop))
        return DecayByHand(decay, module.span(node), spares)
    return None


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the factors of a product."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield from (*_factors(left), *_factors(right))
        case _:
            yield node


def _loop(node: ast.BinOp, module: Module) -> ast.For | None:
    """Return the loop over what an update returned, if the difference is of its parameters."""
    match module.enclosing(node, ast.For):
        case ast.For(target=ast.Tuple(elts=[first, *_]), iter=pairs) as loop:
            mine = identifier(node.left) == identifier(first)
            return loop if mine and _is_update(pairs, module) else None
    return None


def _is_update(node: ast.expr, module: Module) -> bool:
    """Whether it is `pairs` of `_, pairs = optimizer.minimize(loss)`, or the call itself."""
    for value in (node, *(binding.value for binding in definitions(node, module))):
        match value:
            case ast.Call(func=ast.Attribute(attr="minimize" | "backward" | "apply_gradients")):
                return True
    return False
