"""The helpers of apex.fp16_utils for half weights with float32 copies."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.layout import is_alone
from crosscast_torch.migration.experimental.apex.imports import (
    FP16_UTILS,
    is_of_fp16_utils,
    is_reexported,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

LISTS, HALF = "prep_param_lists", "network_to_half"
GRADIENTS, WEIGHTS = "model_grads_to_master_grads", "master_params_to_model_params"


def helper_of(module: Module, node: ast.AST | None) -> str:
    """Return the helper that a node calls with plain arguments; empty if it calls none."""
    if not isinstance(node, ast.Call) or node.keywords:
        return ""
    name = module.call(node).name
    for helper, most in ((LISTS, 1), (HALF, 1), (GRADIENTS, 2), (WEIGHTS, 2)):
        known = name.startswith("apex.fp16_utils.") and name.rpartition(".")[2] == helper
        if (known or is_of_fp16_utils(node.func, helper, module)) and len(node.args) == most:
            return "" if any(isinstance(arg, ast.Starred) for arg in node.args) else helper
    return ""


def halved(call: ast.Call) -> ast.expr:
    """Return what `x.half()` or `network_to_half(x)` converts."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "half":
        return call.func.value
    return call.args[0]


def idle_imports(module: Module, moved: set[int]) -> list[ast.ImportFrom]:
    """Return the imports of apex.fp16_utils that nothing needs but nodes that go.

    Args:
        module: in which they are, at the top.
        moved: ids of these nodes.
    """
    named = {node.id for node in module.every(ast.Name) if id(node) not in moved}
    found = []
    for statement in module.tree.body:
        if not isinstance(statement, ast.ImportFrom) or statement.module != "apex.fp16_utils":
            continue
        names = {alias.asname or alias.name for alias in statement.names}
        needed = FP16_UTILS if "*" in names else names
        idle = not needed & named and not is_reexported(module, statement)
        if idle and is_alone(module, statement):
            found.append(statement)
    return found
