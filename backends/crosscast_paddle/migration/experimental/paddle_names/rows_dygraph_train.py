"""Rows: optimizers, schedules, initializers and clips of dynamic graphs."""

from __future__ import annotations

import ast
import re

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_paddle.migration.experimental.paddle_names.call_forms import given, is_constant
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow, Variant
from crosscast_paddle.migration.experimental.paddle_names.rows_static import EPSILON
from crosscast_paddle.migration.experimental.paddle_names.schedule_steps import stepped_schedule
from crosscast_reading.edits.edit import Edit
from crosscast_reading.pysource.programs.module import Module

_SCALER = (
    "enable init_loss_scaling incr_ratio decr_ratio incr_every_n_steps decr_every_n_nan_or_inf "
    "use_dynamic_loss_scaling"
)
_GUARD = "enable custom_white_list custom_black_list level dtype"
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


_AUTOCASTS = re.compile(
    r"paddle\.amp\.(auto_cast|amp_guard|autocast)|paddle\.fluid\.dygraph\.(amp\.)?(auto_cast\.)?amp_guard"
)


def _entered(module: Module, call: ast.Call) -> list[Edit]:
    """Refuse a scaler that turns itself off, because nothing is computed in half precision.

    Raises:
        CannotError: no region of mixed precision is entered in the program.
    """
    dynamic = given(call, _SCALER, "use_dynamic_loss_scaling")
    enters = (
        _AUTOCASTS.fullmatch(name)
        for other in module.program.modules
        for each in other.calls
        for name in each.names
    )
    if not is_constant(dynamic, False) and not any(enters):
        raise CannotError(
            call,
            "auto_cast is never entered here, and GradScaler of Paddle 3 turns itself off when "
            "scale() is called outside of it; enter paddle.amp.auto_cast around the forward pass",
        )
    return []


def _first_level(module: Module, call: ast.Call) -> list[Edit]:
    """Refuse levels other than O1.

    Raises:
        CannotError: it is another level, or not a literal.
    """
    level = given(call, _GUARD, "level")
    if level is None or is_constant(level, "O1"):
        return []
    raise CannotError(
        level,
        "levels other than O1 compute differently since Paddle 2.5; write paddle.amp.auto_cast, "
        "and compare the types that it computes in",
    )


def _amp(places: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(f"dygraph.{place}{name}" for place in ("", "amp.", *places))


ROWS = (
    NameRow(
        old=_amp(("amp.loss_scaler.",), "AmpScaler"),
        new="paddle.amp.GradScaler",
        order=_SCALER,
        written={"init_loss_scaling": "2.0**15", "incr_every_n_steps": "1000"},
        rewrite=_entered,
        note="AmpScaler is GradScaler, whose other defaults are written out",
    ),
    NameRow(
        old=_amp(("amp.auto_cast.",), "amp_guard"),
        new="paddle.amp.auto_cast",
        order=_GUARD,
        rewrite=_first_level,
        note="the lists of the installed Paddle determine the operations in half; they are longer "
        "than in paddle.fluid, whose operation names are still accepted in custom lists",
    ),
    NameRow(
        old=_amp((), "amp_decorate"),
        refused="at level O2, newer releases select half-precision weights differently; write "
        "paddle.amp.decorate, and compare the types of the weights",
    ),
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
