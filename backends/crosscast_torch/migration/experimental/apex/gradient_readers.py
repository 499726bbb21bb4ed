"""Statements between a backward pass and a step that read gradients, or drop some of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import identifier, walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_READS = re.compile(r"clip|grad_norm|gradnorm|grads?$|gradient|norm_of|unscale")
_NO_READERS = frozenset(
    {"zero_grad", "no_grad", "enable_grad", "set_grad_enabled", "update_master_grads"}
)

_CLIPS = "torch.nn.utils.clip_grad_norm_"
_CLIPPED = frozenset({"parameters", "max_norm", "norm_type", "foreach"})


def readers_in(module: Module, home: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a function that read gradients, or call a function that may."""
    for node in walk(home):
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            if isinstance(node.ctx, ast.Store) or _is_torch(node) or _is_cleared(module, node):
                continue
        elif isinstance(node, ast.Call):
            name = identifier(node.func)
            if name in _NO_READERS:
                continue
            if name not in ("parameters", "named_parameters", "master_params") and not (
                _READS.search(name.lower())
            ):
                continue
        else:
            continue
        yield from _own(module, home, node)


def bound_of_norm(module: Module, statement: ast.stmt) -> ast.expr | None:
    """Return the bound of a statement `clip_grad_norm_(weights, bound)`; None if it is another.

    A norm that is clipped to a scaled bound while gradients are scaled is clipped as without a
    scale, and infinite gradients stay not finite; values that are clamped would become finite.
    """
    match statement:
        case ast.Expr(value=ast.Call() as node):
            call = module.call(node)
            if _CLIPS not in call.names or call.has_star or len(call.names) > 1:
                return None
            bound = call.bound()
            return bound.get("max_norm") if set(bound) <= _CLIPPED else None
    return None


def droppers(module: Module, home: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements that drop gradients, themselves or in a function of the program.

    apex checked all gradients for overflow right after the backward pass. GradScaler checks those
    that are left when it unscales, so it must do that first.
    """
    for node in walk(home):
        if isinstance(node, ast.Attribute):
            if node.attr == "grad" and _is_dropped(module, node):
                yield from _own(module, home, node)
        elif isinstance(node, ast.Call):
            found = module.program.function(module.call(node))
            if (
                found is not None
                and identifier(node.func) not in _NO_READERS
                and any(
                    isinstance(part, ast.Attribute)
                    and part.attr == "grad"
                    and _is_dropped(found[0], part)
                    for part in walk(found[1])
                )
            ):
                yield from _own(module, home, node)


def _own(module: Module, home: ast.AST, node: ast.AST) -> Iterator[ast.stmt]:
    statement = module.statement_of(node)
    if statement is not None and (module.function_of(node) or module.tree) is home:
        yield statement


def _is_dropped(module: Module, node: ast.Attribute) -> bool:
    """Whether a gradient is set to None or zero."""
    match module.parent(node):
        case ast.Assign(value=ast.Constant(value=None)):
            return isinstance(node.ctx, ast.Store)
        case ast.Attribute(attr="data") as data:
            parent = module.parent(data)
            return isinstance(parent, ast.Attribute) and parent.attr == "zero_"
        case ast.Attribute(attr="zero_"):
            return True
    return False


def _is_torch(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("torch", "autograd")


def _is_cleared(module: Module, node: ast.Attribute) -> bool:
    """Whether a gradient is only cleared: `p.grad.zero_()`."""
    parent = module.parent(node)
    return isinstance(parent, ast.Attribute) and parent.attr in ("zero_", "detach_")
