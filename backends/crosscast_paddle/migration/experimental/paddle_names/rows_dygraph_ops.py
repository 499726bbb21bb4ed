"""Rows: functions of `fluid.layers` in dynamic graphs."""

from __future__ import annotations

import ast

from crosscast_paddle.migration.experimental.paddle_names.call_forms import (
    both,
    given,
    is_constant,
    mode_of_dropout,
    result_with_activation,
    training_of_layer,
)
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow, Variant
from crosscast_paddle.migration.experimental.paddle_names.rows_static import (
    AT_ZERO,
    BELOW_ZERO,
    TIES,
)
from crosscast_reading.pysource.programs.module import Module

_F = "paddle.nn.functional"
_BINARY = "x y axis act name"
_BINARIES = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
    "pow": "pow",
    "mod": "remainder",
    "floordiv": "floor_divide",
}
_RESHAPE = "x shape actual_shape act inplace name"
_DROPOUT = "x dropout_prob is_test seed name dropout_implementation"


def _or_helper(row: NameRow, order: str, helper: str, **allowed: tuple[object, ...]) -> Variant:
    """Return a choice: the row if all these arguments have these literals, else a function.

    Arguments that are not visible are handed to the function as they are.
    """

    def choose(module: Module, call: ast.Call | None) -> NameRow:
        if call is None or _is_open(call):
            return NameRow(old=(), helper=helper, note=row.note)
        for name, values in allowed.items():
            value = given(call, order, name)
            if value is not None and not _is_one(value, values):
                return NameRow(old=(), helper=helper, note=row.note)
        return row

    return choose


def _is_open(call: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )


def _is_one(node: ast.expr, values: tuple[object, ...]) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return isinstance(node.operand, ast.Constant) and -node.operand.value in values  # type: ignore[operator]
    return is_constant(node, *values)


def _binary(old: str, new: str) -> NameRow:
    row = NameRow(
        old=(),
        new=f"paddle.{new}",
        order=_BINARY,
        new_order="x y",
        dropped={"axis": ("-1",), "act": ("*",)},
        rewrite=result_with_activation(_BINARY),
        note=BELOW_ZERO if old in ("mod", "floordiv") else "",
    )
    helper = f"elementwise_{old}_along"
    return NameRow(
        old=(f"layers.elementwise_{old}",),
        mode="dynamic",
        variant=_or_helper(row, _BINARY, helper, axis=(-1,)),
    )


def _function(old: str, new: str, order: str, **fields: object) -> NameRow:
    return NameRow(
        old=(f"layers.{old}",),
        mode="dynamic",
        new=new,
        order=order,
        **fields,  # type: ignore[arg-type]
    )


ROWS = (
    *(_binary(old, new) for old, new in _BINARIES.items()),
    *(
        _function(
            f"reduce_{name}",
            f"paddle.{name}",
            "input dim keep_dim name",
            renamed={"input": "x", "dim": "axis", "keep_dim": "keepdim"},
            note=TIES,
        )
        for name in ("max", "min")
    ),
    NameRow(
        old=("layers.matmul",),
        mode="dynamic",
        variant=_or_helper(
            NameRow(
                old=(),
                new="paddle.matmul",
                order="x y transpose_x transpose_y alpha name",
                dropped={"alpha": ("*",)},
            ),
            "x y transpose_x transpose_y alpha name",
            "scaled_matmul",
            alpha=(1.0, 1),
        ),
    ),
    _function(
        "reshape",
        "paddle.reshape",
        _RESHAPE,
        new_order="x shape",
        dropped={"actual_shape": ("None",), "inplace": ("*",), "act": ("*",)},
        rewrite=result_with_activation(_RESHAPE),
    ),
    NameRow(
        old=("layers.flatten",),
        mode="dynamic",
        variant=_or_helper(
            NameRow(
                old=(),
                new="paddle.flatten",
                order="x axis name",
                renamed={"axis": "start_axis"},
                written={"axis": "1"},
            ),
            "x axis name",
            "flattened_to_matrix",
            axis=(1,),
        ),
    ),
    _function(
        "sigmoid_cross_entropy_with_logits",
        f"{_F}.binary_cross_entropy_with_logits",
        "x label ignore_index name normalize",
        new_order="x label",
        renamed={"x": "logit"},
        dropped={"ignore_index": ("-100",), "normalize": ("False",)},
        written={"reduction": '"none"'},
        note=AT_ZERO,
    ),
    _function(
        "dropout",
        f"{_F}.dropout",
        _DROPOUT,
        new_order="x dropout_prob",
        renamed={"dropout_prob": "p", "dropout_implementation": "mode"},
        dropped={"seed": ("None",), "is_test": ("False",)},
        written={"dropout_implementation": '"downscale_in_infer"'},
        rewrite=both(mode_of_dropout(_DROPOUT, "dropout_implementation"), training_of_layer),
    ),
)
