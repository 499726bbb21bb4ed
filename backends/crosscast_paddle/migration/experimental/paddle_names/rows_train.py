"""Rows: parameters, initializers, regularizers, clipping, rates and optimizers of static graphs."""

from __future__ import annotations

import ast

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_paddle.migration.experimental.paddle_names.helpers import OPTIMIZERS, names_of
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow
from crosscast_reading.edits.edit import Edit
from crosscast_reading.pysource.programs.module import Module

_START = "paddle.nn.initializer"
_SEED = "initializers take no seed of their own; that of the program counts"
_SEEDED = {"seed": ("*",)}
_DIAGONAL = {"diag_num": ("0",), "diag_step": ("0",), "diag_val": ("1.0", "1")}
EPSILON = (
    "Adam adds epsilon after the correction of the second moment, Paddle 1 before it: where "
    "gradients are about as small as epsilon, steps are larger now"
)
_AMP = "adam skips an overflow, where it made a step with zero gradients before Paddle 2"


def _plain_rate(module: Module, call: ast.Call) -> list[Edit]:
    """Refuse a learning rate that may be a variable of the graph, or is not a float."""
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "learning_rate")]
    for value in given:
        if not (isinstance(value, ast.Constant) and isinstance(value.value, float)):
            raise CannotError(value, "the learning rate may be a variable of the graph")
    return []


ROWS = (
    NameRow(
        old=("ParamAttr",),
        mode="static",
        new="paddle.ParamAttr",
        order="name initializer learning_rate regularizer trainable",
        dropped={"gradient_clip": ("None",)},
    ),
    NameRow(old=("WeightNormParamAttr",), mode="static", new="paddle.static.WeightNormParamAttr"),
    NameRow(
        old=("initializer.Constant",),
        mode="static",
        new=f"{_START}.Constant",
        order="value force_cpu",
        new_order="value",
        dropped={"force_cpu": ("*",)},
    ),
    NameRow(
        old=("initializer.Uniform",),
        mode="static",
        new=f"{_START}.Uniform",
        order="low high seed diag_num diag_step diag_val",
        new_order="low high",
        dropped=_SEEDED | _DIAGONAL,
        note=_SEED,
    ),
    NameRow(
        old=("initializer.Normal",),
        mode="static",
        new=f"{_START}.Normal",
        order="loc scale seed",
        new_order="loc scale",
        renamed={"loc": "mean", "scale": "std"},
        dropped=_SEEDED,
        note=_SEED,
    ),
    NameRow(
        old=("initializer.TruncatedNormal",),
        mode="static",
        new=f"{_START}.TruncatedNormal",
        order="loc scale seed",
        new_order="loc scale",
        renamed={"loc": "mean", "scale": "std"},
        dropped=_SEEDED,
        note=_SEED,
    ),
    NameRow(old=("initializer.Xavier",), mode="static", new=f"{_START}.xavier.XavierInitializer"),
    NameRow(old=("initializer.MSRA",), mode="static", new=f"{_START}.kaiming.MSRAInitializer"),
    NameRow(old=("initializer.Bilinear",), mode="static", new=f"{_START}.Bilinear"),
    NameRow(old=("initializer.NumpyArray",), mode="static", new=f"{_START}.Assign"),
    NameRow(
        old=("set_global_initializer", "initializer.set_global_initializer"),
        mode="static",
        new=f"{_START}.set_global_initializer",
    ),
    NameRow(
        old=("regularizer.L2Decay",),
        mode="static",
        new="paddle.regularizer.L2Decay",
        renamed={"regularization_coeff": "coeff"},
    ),
    NameRow(
        old=("regularizer.L1Decay",),
        mode="static",
        new="paddle.regularizer.L1Decay",
        renamed={"regularization_coeff": "coeff"},
    ),
    NameRow(
        old=("clip.GradientClipByGlobalNorm", "clip.ClipGradByGlobalNorm"),
        mode="static",
        helper="fluid_GradientClipByGlobalNorm",
    ),
    NameRow(
        old=("clip.GradientClipByNorm",),
        mode="static",
        new="paddle.nn.ClipGradByNorm",
        order="clip_norm need_clip",
        dropped={"need_clip": ("None",)},
    ),
    NameRow(
        old=("clip.GradientClipByValue",),
        mode="static",
        new="paddle.nn.ClipGradByValue",
        order="max min need_clip",
        dropped={"need_clip": ("None",)},
    ),
    NameRow(old=("clip.ErrorClipByValue",), mode="static", new="paddle.nn.clip.ErrorClipByValue"),
    NameRow(
        old=("clip.set_gradient_clip",),
        mode="static",
        new="paddle.nn.clip.set_gradient_clip",
    ),
    *(
        NameRow(old=(f"layers.{name}",), mode="static", helper=f"fluid_{name}")
        for name in (
            *("noam_decay", "exponential_decay", "natural_exp_decay", "inverse_time_decay"),
            *("polynomial_decay", "piecewise_decay", "cosine_decay", "linear_lr_warmup"),
        )
    ),
    *(
        NameRow(
            old=(f"optimizer.{kind}",),
            mode="static",
            new=f"paddle.optimizer.{kind}",
            helper=f"fluid_{kind}",
            order=" ".join(names_of(parameters)),
            renamed={"regularization": "weight_decay", "parameter_list": "parameters"},
            rewrite=_plain_rate,
            note=EPSILON if kind == "Adam" else "",
        )
        for kind, parameters in OPTIMIZERS.items()
    ),
    NameRow(
        old=("optimizer.ExponentialMovingAverage",),
        mode="static",
        helper="fluid_ExponentialMovingAverage",
    ),
    NameRow(
        old=("optimizer.Adadelta",),
        mode="static",
        refused="Adadelta of Paddle 3 multiplies by the learning rate and makes other steps; use "
        "paddle.optimizer.Adadelta with a learning rate that you tried",
    ),
    NameRow(
        old=("contrib.mixed_precision.decorate", "contrib.mixed_precision.decorator.decorate"),
        mode="static",
        new="paddle.static.amp.decorate",
        order="optimizer amp_lists init_loss_scaling incr_every_n_steps decr_every_n_nan_or_inf "
        "incr_ratio decr_ratio use_dynamic_loss_scaling",
        new_order="optimizer amp_lists",
        dropped={"use_pure_fp16": ("False",), "use_fp16_guard": ("None", "False")},
        written={
            "level": '"O1"',
            "dtype": '"float16"',
            "init_loss_scaling": "2.0**15",
            "incr_every_n_steps": "1000",
            "decr_every_n_nan_or_inf": "2",
            "incr_ratio": "2.0",
            "decr_ratio": "0.8",
            "use_dynamic_loss_scaling": "True",
        },
        note=_AMP,
    ),
    NameRow(
        old=(
            "contrib.mixed_precision.AutoMixedPrecisionLists",
            "contrib.mixed_precision.fp16_lists.AutoMixedPrecisionLists",
        ),
        mode="static",
        new="paddle.static.amp.AutoMixedPrecisionLists",
    ),
)
