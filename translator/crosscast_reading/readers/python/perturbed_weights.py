"""Adversarial training: weights are moved and moved back, and the gradients of one batch added."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.once import once
from crosscast_reading.trainstep.frames.weight_sources import is_gradient_like, is_weight

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module


def perturbs_weights(node: ast.AST, module: Module) -> bool:
    """Whether the function around a node adds something to a weight and takes it off again.

    `weights[0].assign_add(delta)`, then `weights[0].assign_sub(delta)`: the gradients in between
    are of the same rows, so a sum of them is no accumulation over micro-batches.
    """
    return module.function_of(node) in _perturbing(module)


_ADDS = frozenset({"assign_add", "add_"})
_MOVES = frozenset({"add_", "copy_", "backward"})
_TAKES_OFF = frozenset({"assign_sub", "sub_"})


@once
def _perturbing(module: Module) -> frozenset[Function | None]:
    """Return the functions that move weights there and back, None for the whole module."""
    there: set[tuple[Function | None, str]] = set()
    back: set[tuple[Function | None, str]] = set()
    for node in module.every(ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(value=weight, attr=way), args=[by]) if (
                way in _ADDS | _TAKES_OFF and module.text(weight) != module.text(by)
            ):
                if is_gradient_like(weight, module):
                    continue
                if way == "add_" and not is_weight(weight, module):
                    continue
                for function in module.functions_around(node):
                    move = (function, f"{module.text(weight)} {module.text(by)}")
                    (there if way in _ADDS else back).add(move)
    return frozenset({function for function, _ in there & back} | set(_restoring(module)))


def _restoring(module: Module) -> Iterator[Function | None]:
    """Yield the functions that move weights between two passes and copy the old ones back."""
    by_function: dict[Function | None, list[tuple[int, str, str]]] = {}
    for node in module.every(ast.Call):
        match node.func:
            case ast.Attribute(value=target, attr=what) if what in _MOVES:
                if what == "backward" or (node.args and is_weight(target, module)):
                    moves = by_function.setdefault(module.function_of(node), [])
                    moves.append((node.lineno, what, module.text(target)))
    for function, calls in by_function.items():
        passes = [line for line, what, _ in calls if what == "backward"]
        moved = [(line, on) for line, what, on in calls if what == "add_"]
        copied = [(line, on) for line, what, on in calls if what == "copy_"]
        for line, on in copied:
            if any(
                on == weight and any(p < at for p in passes) and any(at < p < line for p in passes)
                for at, weight in moved
            ):
                yield function
