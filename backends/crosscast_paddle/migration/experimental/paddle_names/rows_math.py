"""Rows: operations on the variables of static graphs."""

from __future__ import annotations

from crosscast_paddle.migration.experimental.paddle_names.helpers import operations
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow

_F = "paddle.nn.functional"
_INPUT = {"input": "x"}
TIES = (
    "where several elements are the largest or smallest, they share its gradient, which each of "
    "them got whole in Paddle 1"
)
AT_ZERO = (
    "at a logit of exactly 0 the gradient of sigmoid_cross_entropy_with_logits is too small by 1 "
    "in Paddle 3; its layer must not start with zeros"
)
BELOW_ZERO = "whole quotients and remainders round down below zero; Paddle 1 rounded toward zero"
_NOTES = {
    "fluid_reduce_max": TIES,
    "fluid_reduce_min": TIES,
    "fluid_elementwise_floordiv": BELOW_ZERO,
    "fluid_elementwise_mod": BELOW_ZERO,
}


def _static(old: str, new: str, **more: str | dict[str, str]) -> NameRow:
    return NameRow(old=(f"layers.{old}",), mode="static", new=new, **more)  # type: ignore[arg-type]


_HELPED = tuple(
    NameRow(
        old=(f"layers.{name.removeprefix('fluid_')}",),
        mode="static",
        helper=name,
        note=_NOTES.get(name, ""),
    )
    for name in operations()
    if name != "fluid_op"
)
ROWS = (
    *_HELPED,
    _static("square", "paddle.square"),
    _static("reciprocal", "paddle.reciprocal"),
    _static("erf", "paddle.erf"),
    _static("atan", "paddle.atan"),
    _static("relu", f"{_F}.relu"),
    _static("softsign", f"{_F}.softsign"),
    _static("logsigmoid", f"{_F}.log_sigmoid"),
    _static("elu", f"{_F}.elu"),
    _static("selu", f"{_F}.selu"),
    NameRow(
        old=("layers.leaky_relu",),
        mode="static",
        new=f"{_F}.leaky_relu",
        order="x alpha name",
        renamed={"alpha": "negative_slope"},
        written={"alpha": "0.02"},
    ),
    NameRow(
        old=("layers.relu6",),
        mode="static",
        new=f"{_F}.relu6",
        order="x threshold name",
        new_order="x name",
        dropped={"threshold": ("6.0", "6")},
    ),
    NameRow(
        old=("layers.swish",),
        mode="static",
        new=f"{_F}.swish",
        order="x beta name",
        new_order="x name",
        dropped={"beta": ("1.0", "1")},
    ),
    NameRow(
        old=("layers.hard_sigmoid",),
        mode="static",
        new=f"{_F}.hardsigmoid",
        order="x slope offset name",
        written={"slope": "0.2"},
    ),
    NameRow(
        old=("layers.hard_swish",),
        mode="static",
        new=f"{_F}.hardswish",
        order="x threshold scale offset name",
        new_order="x name",
        dropped={"threshold": ("6.0", "6"), "scale": ("6.0", "6"), "offset": ("3.0", "3")},
    ),
    NameRow(
        old=("layers.softmax",),
        mode="static",
        new=f"{_F}.softmax",
        order="input use_cudnn name axis",
        new_order="input axis",
        renamed=_INPUT,
        dropped={"use_cudnn": ("*",), "name": ("*",)},
    ),
    NameRow(
        old=("layers.log_softmax",),
        mode="static",
        new=f"{_F}.log_softmax",
        order="input axis dtype name",
        renamed=_INPUT,
    ),
    _static("scale", "paddle.scale"),
    _static("clip", "paddle.clip"),
    _static("cast", "paddle.cast"),
    _static("assign", "paddle.assign", renamed=_INPUT),
    _static("concat", "paddle.concat", renamed=_INPUT),
    _static("transpose", "paddle.transpose"),
    _static("stack", "paddle.stack"),
    _static("unstack", "paddle.unstack"),
    NameRow(
        old=("layers.split",),
        mode="static",
        new="paddle.split",
        order="input num_or_sections dim name",
        renamed={"input": "x", "dim": "axis"},
        written={"dim": "-1"},
    ),
    _static("squeeze", "paddle.squeeze", renamed={"input": "x", "axes": "axis"}),
    _static("unsqueeze", "paddle.unsqueeze", renamed={"input": "x", "axes": "axis"}),
    _static("expand", "paddle.tile", renamed={"expand_times": "repeat_times"}),
    _static("slice", "paddle.slice"),
    _static("strided_slice", "paddle.strided_slice", renamed=_INPUT),
    _static("shape", "paddle.shape"),
    _static("rank", "paddle.rank"),
    _static("reverse", "paddle.reverse"),
    NameRow(
        old=("layers.gather",),
        mode="static",
        new="paddle.gather",
        order="input index overwrite",
        new_order="input index",
        renamed=_INPUT,
        dropped={"overwrite": ("*",)},
    ),
    _static("gather_nd", "paddle.gather_nd", renamed=_INPUT),
    NameRow(
        old=("layers.scatter",),
        mode="static",
        new="paddle.scatter",
        order="input index updates name overwrite",
        new_order="input index updates overwrite",
        renamed=_INPUT,
    ),
    NameRow(
        old=("layers.topk",),
        mode="static",
        new="paddle.topk",
        order="input k name",
        new_order="input k",
        renamed=_INPUT,
        dropped={"name": ("*",)},
    ),
    _static("where", "paddle.nonzero", renamed={"condition": "x"}),
    _static("diag", "paddle.diag", renamed={"diagonal": "x"}),
    _static("multiplex", "paddle.multiplex"),
    _static("gather_tree", f"{_F}.gather_tree"),
    _static("fill_constant", "paddle.tensor.fill_constant"),
    NameRow(
        old=("layers.zeros",),
        mode="static",
        new="paddle.zeros",
        order="shape dtype force_cpu",
        new_order="shape dtype",
        dropped={"force_cpu": ("*",)},
    ),
    NameRow(
        old=("layers.ones",),
        mode="static",
        new="paddle.ones",
        order="shape dtype force_cpu",
        new_order="shape dtype",
        dropped={"force_cpu": ("*",)},
    ),
    _static("zeros_like", "paddle.zeros_like"),
    _static("ones_like", "paddle.ones_like"),
    _static("range", "paddle.arange"),
    _static("linspace", "paddle.linspace"),
    _static(
        "uniform_random",
        "paddle.uniform",
        written={"dtype": '"float32"', "min": "-1.0"},
        order="shape dtype min max seed name",
    ),
    _static("gaussian_random", "paddle.tensor.random.gaussian"),
    _static("sequence_mask", f"{_F}.sequence_mask"),
    _static("log_loss", f"{_F}.log_loss"),
    _static("square_error_cost", f"{_F}.square_error_cost"),
    _static("softmax_with_cross_entropy", f"{_F}.softmax_with_cross_entropy"),
    NameRow(
        old=("layers.label_smooth",),
        mode="static",
        new=f"{_F}.label_smooth",
        order="label prior_dist epsilon dtype name",
        new_order="label prior_dist epsilon",
        dropped={"dtype": ("*",), "name": ("*",)},
    ),
    _static("Print", "paddle.static.Print"),
    _static("py_func", "paddle.static.py_func"),
    NameRow(old=("layers.cond",), mode="static", helper="fluid_cond"),
    NameRow(
        old=("layers.case", "layers.switch_case"),
        mode="static",
        refused="paddle.static.nn.case does not work in graphs with names; nest fluid.layers.cond "
        "before the migration",
    ),
    _static("while_loop", "paddle.static.nn.while_loop"),
    _static("While", "paddle.static.nn.control_flow.While"),
    NameRow(old=("layers.Switch",), mode="static", helper="fluid_Switch"),
    _static("array_write", "paddle.tensor.array_write"),
    _static("array_read", "paddle.tensor.array_read"),
    _static("array_length", "paddle.tensor.array_length"),
    _static("create_array", "paddle.tensor.create_array"),
    _static("create_tensor", "paddle.tensor.create_tensor"),
    _static("create_parameter", "paddle.static.create_parameter"),
    _static("create_global_var", "paddle.static.create_global_var"),
)
