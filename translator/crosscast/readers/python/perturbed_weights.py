"""Adversarial training: weights are moved and moved back, and the gradients of one batch added."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module


def perturbs_weights(node: ast.AST, module: Module) -> bool:
    """Whether the function around a node adds something to a weight and takes it off again.

    `weights[0].assign_add(delta)`, then `weights[0].assign_sub(delta)`: the gradients in between
    are of the same rows, so a sum of them is no accumulation over micro-batches.
    """
    function: ast.AST = module.function_of(node) or module.tree
    moved: dict[str, set[str]] = {"assign_add": set(), "assign_sub": set()}
    for inner in walk(function):
        match inner:
            case ast.Call(
                func=ast.Attribute(value=weight, attr="assign_add" | "assign_sub" as way), args=[by]
            ) if module.text(weight) != module.text(by):
                moved[way].add(f"{module.text(weight)} {module.text(by)}")
    return bool(moved["assign_add"] & moved["assign_sub"])
