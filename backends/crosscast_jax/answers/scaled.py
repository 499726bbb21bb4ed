"""Gradients of Flax' loss scale, and what a program reads of its results."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_jax.answers.names import reads
from crosscast_reading.pysource.names.containers import chase

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_METHOD = "value_and_grad"
_PLAIN = ("jax", "flax.nnx", "equinox", "jax.experimental")
"""Modules with a function of this name, which scales nothing."""
_RESULTS = 4
"""The next scale, whether gradients are finite, the value, the gradients."""


@dataclass(frozen=True, slots=True)
class ScaledGradients:
    """`scale, finite, loss, gradients = grad_fn(...)`."""

    node: ast.Assign
    targets: tuple[ast.expr, ...]
    module: Module

    def is_read(self, place: int) -> bool:
        """Whether one of the results is read, or kept somewhere else than in a plain name."""
        target = self.targets[place]
        if not isinstance(target, ast.Name):
            return True
        loop = self.module.enclosing(self.node, ast.For, ast.While)
        if loop is not None and reads(loop, target.id):  # the next round may be what reads it
            return True
        home: ast.AST = self.module.function_of(self.node) or self.module.tree
        return reads(home, target.id, after=self.node.lineno)


def scaled_gradients(program: Program) -> Iterator[ScaledGradients]:
    """Yield the places where a program unpacks them."""
    for module in program.modules:
        for node in module.every(ast.Assign):
            match node:
                case ast.Assign(
                    targets=[ast.Tuple(elts=targets)], value=ast.Call(func=function)
                ) if len(targets) == _RESULTS and _is_scaled(function, module):
                    yield ScaledGradients(node, tuple(targets), module)


def _is_scaled(function: ast.expr, module: Module) -> bool:
    """Whether an expression is `scale.value_and_grad(loss_fn)`, which returns four results."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == _METHOD
        and where.resolve(node.func.value) not in _PLAIN
        for node, where in chase(function, module)
    )
