"""Adversarial training: weights are moved and moved back, and the gradients of one batch added."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.programs.once import once

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Function, Module


def perturbs_weights(node: ast.AST, module: Module) -> bool:
    """Whether the function around a node adds something to a weight and takes it off again.

    `weights[0].assign_add(delta)`, then `weights[0].assign_sub(delta)`: the gradients in between
    are of the same rows, so a sum of them is no accumulation over micro-batches.
    """
    return module.function_of(node) in _perturbing(module)


@once
def _perturbing(module: Module) -> frozenset[Function | None]:
    """Return the functions that move weights there and back, None for the whole module."""
    moved: dict[str, set[tuple[Function | None, str]]] = {"assign_add": set(), "assign_sub": set()}
    for node in module.every(ast.Call):
        match node:
            case ast.Call(
                func=ast.Attribute(value=weight, attr="assign_add" | "assign_sub" as way), args=[by]
            ) if module.text(weight) != module.text(by):
                for function in module.functions_around(node):
                    moved[way].add((function, f"{module.text(weight)} {module.text(by)}"))
    return frozenset(function for function, _ in moved["assign_add"] & moved["assign_sub"])
