"""Tests of the exact class of a tensor: `type(x) is tf.Tensor`.

A tensor of a graph is a SymbolicTensor in TensorFlow 2, which derives from `tf.Tensor`, so the test
is never true there; tests/frameworks/test_tensorflow1.py looks that up.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.module import Module
from crosscast_tensorflow.migration.experimental.edits import raw
from crosscast_tensorflow.migration.experimental.tensorflow1.module_names import Use

_TENSORS = ("Tensor", "python.framework.ops.Tensor")
_IS: dict[type[ast.cmpop], str] = {
    ast.Is: "",
    ast.Eq: "",
    ast.IsNot: "not ",
    ast.NotEq: "not ",
}


def type_tests(module: Module, uses: Sequence[Use]) -> tuple[list[Edit], list[Refusal]]:
    """Return the edits to `isinstance`, and refusals of what is not certain.

    Args:
        module: of the uses.
        uses: of TensorFlow, those that keep their text.
    """
    edits: list[Edit] = []
    refusals: list[Refusal] = []
    for use in uses:
        if use.path not in _TENSORS or module.is_dead(use.node):
            continue
        test = _test_around(use.node, module)
        if test is None:
            continue
        tested = _tested(test.left)
        word = _IS.get(type(test.ops[0]))
        plain = test.comparators == [use.node] and "#" not in raw(module, test)
        if plain and tested and word is not None:
            text = f"{word}isinstance({raw(module, tested)}, {raw(module, use.node)})"
            edits.append(replace_node(module, test, text))
        else:
            refusals.append(
                Refusal(
                    span=module.span(use.node),
                    message="no tensor of a graph has exactly the class tf.Tensor in TensorFlow 2",
                    hint="write isinstance(x, tf.Tensor)",
                )
            )
    return edits, refusals


def _test_around(node: ast.expr, module: Module) -> ast.Compare | None:
    """Return the comparison of a class that a name is part of, perhaps within a list."""
    parent = module.parent(node)
    if isinstance(parent, ast.Tuple | ast.List | ast.Set):
        parent = module.parent(parent)
    if not isinstance(parent, ast.Compare):
        return None
    sides = (parent.left, *parent.comparators)
    return parent if any(_tested(side) for side in sides) else None


def _tested(node: ast.expr) -> ast.expr | None:
    """Return `x` of `type(x)` and `x.__class__`."""
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":
        return node.args[0] if len(node.args) == 1 and not node.keywords else None
    return None
