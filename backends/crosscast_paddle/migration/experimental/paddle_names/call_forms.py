"""Rewrites of calls that rows of dynamic graphs share: activations, groups, training."""

from __future__ import annotations

import ast

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError, more_arguments
from crosscast_paddle.migration.experimental.paddle_names.row import Rewrite
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, insert_before, replace_node
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.module import Module

_KEPT = ("astype", "reshape", "copy", "transpose", "flatten", "squeeze")
"""Methods of an array that return one."""
_SIMPLE = ast.Name | ast.Attribute | ast.Constant | ast.Call | ast.Subscript


def given(call: ast.Call, order: str, name: str) -> ast.expr | None:
    """Return the argument of a call that is given for a parameter."""
    places = order.split()
    if name in places and places.index(name) < len(call.args):
        return call.args[places.index(name)]
    return next((k.value for k in call.keywords if k.arg == name), None)


def is_constant(node: ast.expr | None, *values: object) -> bool:
    """Whether an argument is one of several literals of the same type."""
    return isinstance(node, ast.Constant) and any(
        node.value == value and type(node.value) is type(value) for value in values
    )


def is_array(node: ast.expr, module: Module) -> bool:
    """Whether an expression is certainly an array of NumPy, not a tensor."""
    if isinstance(node, ast.Name):
        found = list(bindings_of(node.id, node, module))
        return bool(found) and all(
            binding.assigned is not None
            and not isinstance(binding.assigned, ast.Name)
            and is_array(binding.assigned, module)
            for binding in found
        )
    if not isinstance(node, ast.Call):
        return False
    names = module.call(node).names
    if names and all(name.startswith("numpy.") for name in names):
        return True
    method = node.func if isinstance(node.func, ast.Attribute) else None
    if method is None:
        return False
    return method.attr == "numpy" or (method.attr in _KEPT and is_array(method.value, module))


def closing(module: Module, call: ast.Call, text: str) -> Edit:
    """Return the edit that inserts a text after a call."""
    assert call.end_lineno is not None
    assert call.end_col_offset is not None
    column = column_at(module, call.end_lineno, call.end_col_offset)
    return insert(module, call.end_lineno, column, text)


def movable(module: Module, node: ast.expr) -> str:
    """Return the text of an argument that is moved to another place.

    Raises:
        CannotError: it uses names of fluid, which would be lost.
    """
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and module.imports.get(part.id, "").startswith(
            "paddle.fluid"
        ):
            raise CannotError(node, "an argument that must be moved uses fluid itself")
    return module.text(node)


def layer_with_activation(order: str) -> Rewrite:
    """Return the rewrite of a layer's `act=`, which layers of Paddle 3 do not take."""

    def rewrite(module: Module, call: ast.Call) -> list[Edit]:
        act = given(call, order, "act")
        if act is None or is_constant(act, None):
            return []
        return [
            insert_before(module, call, "with_activation("),
            closing(module, call, f", {movable(module, act)})"),
        ]

    return rewrite


def result_with_activation(order: str) -> Rewrite:
    """Return the rewrite of a function's `act=`: the activation is applied to the result."""

    def rewrite(module: Module, call: ast.Call) -> list[Edit]:
        act = given(call, order, "act")
        if act is None or is_constant(act, None):
            return []
        if isinstance(act, ast.Constant) and isinstance(act.value, str):
            return [
                insert_before(module, call, f"paddle.nn.functional.{act.value}("),
                closing(module, call, ")"),
            ]
        return [
            insert_before(module, call, "activated("),
            closing(module, call, f", {movable(module, act)})"),
        ]

    return rewrite


def both(*rewrites: Rewrite) -> Rewrite:
    """Return a rewrite that makes the edits of several."""

    def rewrite(module: Module, call: ast.Call) -> list[Edit]:
        return [edit for one in rewrites for edit in one(module, call)]

    return rewrite


def one_group(order: str) -> Rewrite:
    """Return the rewrite of `groups=None`, which means one group in fluid only."""

    def rewrite(module: Module, call: ast.Call) -> list[Edit]:
        value = given(call, order, "groups")
        if value is None or is_constant(value, None):
            return [] if value is None else [replace_node(module, value, "1")]
        if isinstance(value, ast.Constant):
            return []
        text = module.text(value)
        return [
            replace_node(
                module, value, f"{text} or 1" if isinstance(value, _SIMPLE) else f"({text}) or 1"
            )
        ]

    return rewrite


def mode_of_dropout(order: str, parameter: str) -> Rewrite:
    """Return the rewrite of `dropout_implementation`, whose default was `downgrade_in_infer`."""

    def rewrite(module: Module, call: ast.Call) -> list[Edit]:
        value = given(call, order, parameter)
        if value is None:
            return []
        if is_constant(value, "upscale_in_train"):
            return []
        if is_constant(value, "downgrade_in_infer"):
            return [replace_node(module, value, '"downscale_in_infer"')]
        raise CannotError(value, f"{parameter} is not a literal; write mode= of Paddle 3")

    return rewrite


def training_of_layer(module: Module, call: ast.Call) -> list[Edit]:
    """Return the edit that tells a function of a layer whether it trains.

    Raises:
        CannotError: the call is not in a method of a class.
    """
    function = module.function_of(call)
    first = function.args.args[0].arg if function is not None and function.args.args else ""
    if function is None or not isinstance(module.parent(function), ast.ClassDef) or not first:
        raise CannotError(
            call,
            "fluid knew by itself whether it trains; write training=, or use paddle.nn.Dropout",
        )
    return [more_arguments(module, call, f"training={first}.training")]
