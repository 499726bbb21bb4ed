"""Rows: optimizers, schedules, initializers and clips of dynamic graphs."""

from __future__ import annotations

import ast

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_paddle.migration.experimental.paddle_names.call_forms import given, is_constant
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow, Variant
from crosscast_paddle.migration.experimental.paddle_names.rows_train import EPSILON
from crosscast_paddle.migration.experimental.paddle_names.schedule_steps import stepped_schedule
from crosscast_reading.pysource.programs.module import Module

_NEW = {"parameter_list": "parameters", "regularization": "weight_decay"}
_OPTIMIZERS = (
    (
        "Adam",
        "learning_rate beta1 beta2 epsilon parameter_list regularization grad_clip name lazy_mode",
        "learning_rate beta1 beta2 epsilon parameter_list regularization grad_clip lazy_mode",
    ),
    ("SGD", "learning_rate parameter_list regularization grad_clip name", ""),
    (
        "Momentum",
        "learning_rate momentum parameter_list use_nesterov regularization grad_clip name",
        "",
    ),
    (
        "Adagrad",
        "learning_rate epsilon parameter_list regularization grad_clip name "
        "initial_accumulator_value",
        "",
    ),
    (
        "Adamax",
        "learning_rate beta1 beta2 epsilon parameter_list regularization grad_clip name",
        "",
    ),
    (
        "RMSProp",
        "learning_rate rho epsilon momentum centered parameter_list regularization grad_clip name",
        "",
    ),
)
_FANS = "uniform fan_in fan_out seed"
_SEED = {"seed": ("0",)}
_DECAY = "learning_rate decay_steps decay_rate staircase begin step dtype"
_COUNTED = {"begin": ("0",), "step": ("1",), "dtype": ("'float32'", '"float32"')}
_FROM_ONE = {**_COUNTED, "begin": ("1",)}


def _initializer(old: str, new: str, order: str, **fields: object) -> NameRow:
    return NameRow(
        old=(f"initializer.{old}",),
        mode="dynamic",
        new=f"paddle.nn.initializer.{new}",
        order=order,
        **fields,  # type: ignore[arg-type]
    )


def _by_shape(name: str) -> Variant:
    """Return the choice between the uniform and the normal form of an initializer."""

    def choose(module: Module, call: ast.Call | None) -> NameRow:
        uniform = given(call, _FANS, "uniform") if call is not None else None
        if uniform is not None and not is_constant(uniform, True, False):
            raise CannotError(uniform, f"uniform= is not a literal; write {name}Uniform or Normal")
        form = "Normal" if is_constant(uniform, False) else "Uniform"
        return NameRow(
            old=(),
            new=f"paddle.nn.initializer.{name}{form}",
            order=_FANS if name == "Xavier" else "uniform fan_in seed",
            dropped={"uniform": ("*",), **_SEED},
        )

    return choose


ROWS = (
    *(
        NameRow(
            old=(f"optimizer.{name}",),
            mode="dynamic",
            new=f"paddle.optimizer.{name}",
            order=order,
            new_order=new_order,
            renamed=_NEW,
            note=EPSILON if name == "Adam" else "",
        )
        for name, order, new_order in _OPTIMIZERS
    ),
    NameRow(
        old=("optimizer.Lamb",),
        refused="Paddle 3 computes another trust ratio; write paddle.optimizer.Lamb "
        "and choose its learning rate again",
    ),
    NameRow(
        old=("optimizer.Adadelta",),
        mode="dynamic",
        refused="fluid ignored its learning rate; write paddle.optimizer.Adadelta("
        "learning_rate=1.0, parameters=...) to keep the steps",
    ),
    NameRow(
        old=("regularizer.L2Decay",),
        mode="dynamic",
        new="paddle.regularizer.L2Decay",
        order="regularization_coeff",
        renamed={"regularization_coeff": "coeff"},
    ),
    NameRow(
        old=("regularizer.L1Decay",),
        mode="dynamic",
        new="paddle.regularizer.L1Decay",
        order="regularization_coeff",
        renamed={"regularization_coeff": "coeff"},
    ),
    NameRow(
        old=(
            "clip.GradientClipByGlobalNorm",
            "dygraph_grad_clip.GradClipByGlobalNorm",
        ),
        mode="dynamic",
        new="paddle.nn.ClipGradByGlobalNorm",
        order="clip_norm group_name need_clip",
        dropped={"need_clip": ("None",)},
    ),
    NameRow(
        old=("clip.GradientClipByNorm", "dygraph_grad_clip.GradClipByNorm"),
        mode="dynamic",
        new="paddle.nn.ClipGradByNorm",
        order="clip_norm need_clip",
        dropped={"need_clip": ("None",)},
    ),
    NameRow(
        old=("clip.GradientClipByValue",),
        mode="dynamic",
        new="paddle.nn.ClipGradByValue",
        order="max min need_clip",
        dropped={"need_clip": ("None",)},
    ),
    _initializer("Constant", "Constant", "value force_cpu", dropped={"force_cpu": ("*",)}),
    _initializer(
        "Uniform",
        "Uniform",
        "low high seed diag_num diag_step diag_val",
        dropped=_SEED | {"diag_num": ("0",), "diag_step": ("0",), "diag_val": ("1.0",)},
    ),
    _initializer(
        "Normal",
        "Normal",
        "loc scale seed",
        renamed={"loc": "mean", "scale": "std"},
        dropped=_SEED,
    ),
    _initializer(
        "TruncatedNormal",
        "TruncatedNormal",
        "loc scale seed",
        renamed={"loc": "mean", "scale": "std"},
        dropped=_SEED,
    ),
    _initializer("NumpyArray", "Assign", "value"),
    _initializer("Bilinear", "Bilinear", ""),
    NameRow(
        old=("initializer.Xavier",),
        mode="dynamic",
        variant=_by_shape("Xavier"),
    ),
    NameRow(
        old=("initializer.MSRA",),
        mode="dynamic",
        variant=_by_shape("Kaiming"),
    ),
    *(
        NameRow(
            old=(f"dygraph.{name}", f"layers.{function}"),
            mode="dynamic",
            helper=f"{function}_by_step",
            rewrite=stepped_schedule,
        )
        for name, function in (
            ("CosineDecay", "cosine_decay"),
            ("ExponentialDecay", "exponential_decay"),
            ("NaturalExpDecay", "natural_exp_decay"),
            ("InverseTimeDecay", "inverse_time_decay"),
        )
    ),
    NameRow(
        old=("dygraph.PiecewiseDecay", "layers.piecewise_decay"),
        mode="dynamic",
        new="paddle.optimizer.lr.PiecewiseDecay",
        order="boundaries values begin step dtype",
        dropped=_COUNTED,
        rewrite=stepped_schedule,
    ),
    NameRow(
        old=("dygraph.PolynomialDecay", "layers.polynomial_decay"),
        mode="dynamic",
        new="paddle.optimizer.lr.PolynomialDecay",
        order="learning_rate decay_steps end_learning_rate power cycle begin step dtype",
        renamed={"end_learning_rate": "end_lr"},
        dropped=_COUNTED,
        rewrite=stepped_schedule,
    ),
    NameRow(
        old=("dygraph.NoamDecay", "layers.noam_decay"),
        mode="dynamic",
        new="paddle.optimizer.lr.NoamDecay",
        order="d_model warmup_steps begin step dtype learning_rate",
        new_order="d_model warmup_steps",
        dropped=_FROM_ONE,
        written={"last_epoch": "0"},
        rewrite=stepped_schedule,
    ),
)
