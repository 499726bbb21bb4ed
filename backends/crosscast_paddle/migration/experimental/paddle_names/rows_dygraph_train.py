"""Rows: optimizers, schedules, initializers and clips of dynamic graphs."""

from __future__ import annotations

import ast

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_paddle.migration.experimental.paddle_names.call_forms import given, is_constant
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow, Variant
from crosscast_paddle.migration.experimental.paddle_names.rows_static import EPSILON
from crosscast_paddle.migration.experimental.paddle_names.schedule_steps import stepped_schedule
from crosscast_reading.pysource.programs.module import Module

_FANS = "uniform fan_in fan_out seed"
_SEED = {"seed": ("0",)}
_COUNTED = {"begin": ("0",), "step": ("1",), "dtype": ("'float32'", '"float32"')}
_FROM_ONE = {**_COUNTED, "begin": ("1",)}


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
    NameRow(
        old=("optimizer.Adam",),
        mode="dynamic",
        new="paddle.optimizer.Adam",
        order="learning_rate beta1 beta2 epsilon parameter_list regularization grad_clip name "
        "lazy_mode",
        new_order="learning_rate beta1 beta2 epsilon parameter_list regularization grad_clip "
        "lazy_mode",
        renamed={"parameter_list": "parameters", "regularization": "weight_decay"},
        note=EPSILON,
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
