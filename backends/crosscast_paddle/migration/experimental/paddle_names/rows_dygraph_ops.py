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
from crosscast_paddle.migration.experimental.paddle_names.rows_math import AT_ZERO, BELOW_ZERO, TIES
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
_REDUCED = "input dim keep_dim name"
_RESHAPE = "x shape actual_shape act inplace name"
_DROPOUT = "x dropout_prob is_test seed name dropout_implementation"
_RESIZE = "input out_shape scale name actual_shape align_corners align_mode data_format"
_TO_X = {"input": "x"}
_SAME = (
    ("paddle", "tanh exp sqrt abs square log ceil floor cos sin rsqrt reciprocal sign erf"),
    ("paddle", "clip stack transpose cast slice shape bmm unstack linspace"),
    ("paddle", "index_sample scatter_nd shard_index dist dot"),
    (_F, "relu sigmoid elu gelu softplus softsign pixel_shuffle unfold square_error_cost"),
    (_F, "mse_loss dice_loss log_loss softmax_with_cross_entropy sequence_mask"),
)


def _or_helper(row: NameRow, order: str, helper: str, **allowed: tuple[object, ...]) -> Variant:
    """Return a choice: the row if all these arguments have these literals, else a function."""

    def choose(module: Module, call: ast.Call | None) -> NameRow:
        if call is None:
            return NameRow(old=(), helper=helper, note=row.note)
        for name, values in allowed.items():
            value = given(call, order, name)
            if value is not None and not _is_one(value, values):
                return NameRow(old=(), helper=helper, note=row.note)
        return row

    return choose


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
        NameRow(old=(f"layers.{name}",), mode="dynamic", new=f"{place}.{name}")
        for place, names in _SAME
        for name in names.split()
    ),
    NameRow(old=("layers.round",), mode="dynamic", helper="rounded_away"),
    *(
        NameRow(old=(f"layers.{name}",), mode="dynamic", new=f"paddle.{name}", renamed=_TO_X)
        for name in ("gather_nd", "triu", "tril")
    ),
    _function(
        "mish",
        f"{_F}.mish",
        "x threshold name",
        new_order="x name",
        dropped={"threshold": ("*",)},
    ),
    *(
        _function(
            f"reduce_{name}",
            f"paddle.{name}",
            _REDUCED,
            renamed={"input": "x", "dim": "axis", "keep_dim": "keepdim"},
            **({"new_order": "input dim"} if name in ("sum", "prod") else {}),
            note=TIES if name in ("max", "min") else "",
        )
        for name in ("mean", "sum", "max", "min", "prod", "all", "any")
    ),
    _function("mean", "paddle.mean", "x name", new_order="x"),
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
    NameRow(old=("layers.mul",), mode="dynamic", helper="flat_matmul"),
    _function(
        "softmax",
        f"{_F}.softmax",
        "input use_cudnn name axis",
        new_order="input axis",
        renamed=_TO_X,
        dropped={"use_cudnn": ("*",)},
    ),
    _function("log_softmax", f"{_F}.log_softmax", "input axis dtype name", renamed=_TO_X),
    _function(
        "leaky_relu",
        f"{_F}.leaky_relu",
        "x alpha name",
        renamed={"alpha": "negative_slope"},
        written={"alpha": "0.02"},
    ),
    _function("relu6", f"{_F}.relu6", "x threshold name", dropped={"threshold": ("6.0", "6")}),
    _function(
        "hard_sigmoid",
        f"{_F}.hardsigmoid",
        "x slope offset name",
        written={"slope": "0.2", "offset": "0.5"},
    ),
    _function(
        "hard_swish",
        f"{_F}.hardswish",
        "x threshold scale offset name",
        dropped={"threshold": ("6.0", "6"), "scale": ("6.0", "6"), "offset": ("3.0", "3")},
    ),
    _function("swish", f"{_F}.swish", "x beta name", dropped={"beta": ("1.0", "1")}),
    _function("logsigmoid", f"{_F}.log_sigmoid", "x name"),
    _function("tanh_shrink", f"{_F}.tanhshrink", "x name"),
    _function(
        "brelu",
        "paddle.clip",
        "x t_min t_max name",
        renamed={"t_min": "min", "t_max": "max"},
        written={"t_min": "0.0", "t_max": "24.0"},
    ),
    _function(
        "pow", "paddle.pow", "x factor name", renamed={"factor": "y"}, written={"factor": "1.0"}
    ),
    NameRow(old=("layers.scale",), mode="dynamic", new="paddle.scale"),
    _function("concat", "paddle.concat", "input axis name", renamed=_TO_X),
    _function(
        "split",
        "paddle.split",
        "input num_or_sections dim name",
        renamed={"input": "x", "dim": "axis"},
        written={"dim": "-1"},
    ),
    _function(
        "squeeze", "paddle.squeeze", "input axes name", renamed={"input": "x", "axes": "axis"}
    ),
    _function(
        "unsqueeze", "paddle.unsqueeze", "input axes name", renamed={"input": "x", "axes": "axis"}
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
        "expand", "paddle.tile", "x expand_times name", renamed={"expand_times": "repeat_times"}
    ),
    _function(
        "expand_as", "paddle.expand_as", "x target_tensor name", renamed={"target_tensor": "y"}
    ),
    _function(
        "gather",
        "paddle.gather",
        "input index overwrite",
        renamed=_TO_X,
        dropped={"overwrite": ("*",)},
    ),
    _function(
        "scatter",
        "paddle.scatter",
        "input index updates name overwrite",
        new_order="input index updates overwrite",
        renamed=_TO_X,
    ),
    _function(
        "index_select",
        "paddle.index_select",
        "input index dim",
        renamed={"input": "x", "dim": "axis"},
    ),
    _function(
        "fill_constant",
        "paddle.full",
        "shape dtype value force_cpu out",
        new_order="shape value dtype",
        renamed={"value": "fill_value"},
        dropped={"force_cpu": ("*",), "out": ("None",)},
    ),
    _function("zeros", "paddle.zeros", "shape dtype force_cpu", dropped={"force_cpu": ("*",)}),
    _function("ones", "paddle.ones", "shape dtype force_cpu", dropped={"force_cpu": ("*",)}),
    _function("zeros_like", "paddle.zeros_like", "x out", dropped={"out": ("None",)}),
    _function("ones_like", "paddle.ones_like", "x out", dropped={"out": ("None",)}),
    _function("range", "paddle.arange", "start end step dtype"),
    _function("arange", "paddle.arange", "start end step dtype name"),
    _function("assign", "paddle.assign", "input output", renamed=_TO_X),
    _function("argmax", "paddle.argmax", "x axis", written={"axis": "0"}),
    _function("argmin", "paddle.argmin", "x axis", written={"axis": "0"}),
    NameRow(old=("layers.argsort",), mode="dynamic", helper="sorted_with_indices"),
    _function("topk", "paddle.topk", "input k name", renamed=_TO_X, new_order="input k"),
    NameRow(old=("layers.one_hot",), mode="dynamic", helper="one_hot_of_column"),
    NameRow(
        old=("one_hot",),
        mode="dynamic",
        new=f"{_F}.one_hot",
        order="input depth allow_out_of_range",
        renamed={"input": "x", "depth": "num_classes"},
        dropped={"allow_out_of_range": ("False",)},
    ),
    _function("where", "paddle.nonzero", "condition", renamed={"condition": "x"}),
    *(
        _function(
            name,
            f"paddle.{name}",
            "x y cond" if name != "less_than" else "x y force_cpu cond",
            dropped={"cond": ("None",), "force_cpu": ("*",)},
        )
        for name in (
            *("equal", "not_equal", "less_than", "less_equal"),
            *("greater_than", "greater_equal"),
        )
    ),
    *(
        _function(name, f"paddle.{name}", "x y out name", dropped={"out": ("None",)})
        for name in ("logical_and", "logical_or", "logical_xor")
    ),
    _function("logical_not", "paddle.logical_not", "x out name", dropped={"out": ("None",)}),
    *(
        NameRow(old=(f"layers.{name}",), mode="dynamic", helper=f"{name}_at_all")
        for name in ("isfinite", "has_nan", "has_inf")
    ),
    _function(
        "cumsum",
        "paddle.cumsum",
        "x axis exclusive reverse",
        dropped={"exclusive": ("None", "False"), "reverse": ("None", "False")},
        written={"axis": "-1"},
    ),
    _function("sum", "paddle.add_n", "x", renamed={"x": "inputs"}),
    _function(
        "sums", "paddle.add_n", "input out", renamed={"input": "inputs"}, dropped={"out": ("None",)}
    ),
    _function("increment", "paddle.increment", "x value in_place", dropped={"in_place": ("True",)}),
    _function(
        "accuracy",
        "paddle.metric.accuracy",
        "input label k correct total",
        dropped={"correct": ("None",), "total": ("None",)},
    ),
    _function(
        "cross_entropy",
        f"{_F}.cross_entropy",
        "input label soft_label ignore_index",
        new_order="input label",
        written={"reduction": '"none"', "use_softmax": "False"},
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
        "kldiv_loss",
        f"{_F}.kl_div",
        "x target reduction name",
        renamed={"x": "input", "target": "label"},
    ),
    _function("l2_normalize", f"{_F}.normalize", "x axis epsilon name", new_order="x"),
    _function(
        "label_smooth",
        f"{_F}.label_smooth",
        "label prior_dist epsilon dtype name",
        dropped={"dtype": ("'float32'", '"float32"')},
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
    _function("maxout", f"{_F}.maxout", "x groups name axis", new_order="x groups axis"),
    _function("grid_sampler", f"{_F}.grid_sample", "x grid name"),
    _function(
        "resize_bilinear",
        f"{_F}.interpolate",
        _RESIZE,
        new_order="input out_shape scale",
        renamed={"input": "x", "out_shape": "size", "scale": "scale_factor"},
        dropped={"actual_shape": ("None",)},
        written={"mode": '"bilinear"', "align_corners": "True", "align_mode": "1"},
    ),
    NameRow(old=("layers.resize_nearest",), mode="dynamic", helper="resize_to_nearest"),
    NameRow(old=("layers.image_resize",), mode="dynamic", helper="resize_image"),
    _function(
        "pad",
        f"{_F}.pad",
        "x paddings pad_value name",
        new_order="x paddings",
        renamed={"paddings": "pad", "pad_value": "value"},
    ),
    NameRow(old=("layers.pad2d",), mode="dynamic", helper="pad_image"),
    NameRow(old=("layers.pool2d",), mode="dynamic", helper="pool_image"),
    _function(
        "uniform_random",
        "paddle.uniform",
        "shape dtype min max seed",
        written={"min": "-1.0"},
    ),
    NameRow(old=("layers.create_parameter",), mode="dynamic", new="paddle.create_parameter"),
)
