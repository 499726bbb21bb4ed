"""What Paddle can express, and how. One row a fact; see crosscast.capability.Row."""

from __future__ import annotations

from crosscast.capability import Evidence, Row, Verdict
from crosscast.codes import Code
from crosscast.neutral_rows import NEUTRAL_ROWS
from crosscast.recipe import BertModel, CustomModel, DynamicLossScaling, GlobalNormClipping, Recipe

CODES = (
    Code(
        "CC340",
        "loss scale has no bounds",
        "paddle.amp.GradScaler falls to 0 and grows to inf; the script keeps its own counters.",
    ),
    Code(
        "CC341",
        "loss scaler switches itself off",
        "GradScaler.scale() disables the scaler for good unless the last auto_cast was float16; "
        "the script calls it behind one only.",
    ),
    Code(
        "CC342",
        "static loss scale tells of no skips",
        "With use_dynamic_loss_scaling=False nothing says that a step was skipped; the script "
        "uses a dynamic scaler that never adjusts.",
    ),
    Code(
        "CC343",
        "clip formula differs",
        "clip_grad_norm_ always adds 1e-6 to the norm; the script clips by itself.",
    ),
    Code(
        "CC344",
        "custom model without a factory",
        "Name a function under model.factory.paddle that returns the model.",
    ),
    Code(
        "CC345",
        "mixed precision needs a GPU",
        "On CPU paddle.amp.auto_cast computes in float32; the script refuses to pretend.",
    ),
    Code(
        "CC346",
        "epsilon of LayerNorm out of range",
        "Paddle's layer_norm accepts an epsilon of at most 1e-3.",
    ),
)


def _dynamic(recipe: Recipe) -> bool:
    return isinstance(recipe.loss_scaling, DynamicLossScaling)


def _static(recipe: Recipe) -> bool:
    return recipe.loss_scaling.mode == "static"


def _mixed(recipe: Recipe) -> bool:
    return recipe.precision.mode == "mixed"


def _wide_norm_eps(recipe: Recipe) -> bool:
    return isinstance(recipe.model, BertModel) and recipe.model.layer_norm_eps > 1e-3


def _own_clip(recipe: Recipe) -> bool:
    return isinstance(recipe.clipping, GlobalNormClipping) and recipe.clipping.eps != 1e-6


def _no_factory(recipe: Recipe) -> bool:
    return isinstance(recipe.model, CustomModel) and "paddle" not in recipe.model.factory


ROWS = (
    *NEUTRAL_ROWS,
    Row(path="seed", how="paddle.seed; NumPy orders the rows"),
    Row(
        path="model",
        verdict=Verdict.UNSUPPORTED,
        how="model.factory names no function for paddle",
        code="CC344",
        probe="none: a fact about the recipe",
        when=_no_factory,
    ),
    Row(path="model", how="nn.Layer with explicit types, or the user's factory"),
    Row(
        path="model.layer_norm_eps",
        verdict=Verdict.UNSUPPORTED,
        how="layer_norm refuses an epsilon above 1e-3",
        code="CC346",
        probe="paddle/test_layer_norm.py::test_epsilon_above_a_thousandth_is_refused",
        when=_wide_norm_eps,
    ),
    Row(path="data", how="npz read with NumPy, the same row order on every framework"),
    Row(path="batch", how="rows of a window cut into micro-batches"),
    Row(path="precision", how="paddle.amp.auto_cast O1 around the forward pass"),
    Row(
        path="precision.mode",
        verdict=Verdict.ADAPTED,
        how="auto_cast computes in float32 on CPU: there the script ends with exit code 3",
        code="CC345",
        probe="paddle/test_amp.py::test_auto_cast_computes_in_float32_on_cpu",
        when=_mixed,
    ),
    Row(
        path="precision.tf32",
        how="NVIDIA_TF32_OVERRIDE, because Paddle's default changes between releases",
        evidence=Evidence.DOCUMENTED,
    ),
    Row(path="loss_scaling", how="paddle.amp.GradScaler"),
    Row(
        path="loss_scaling.mode",
        verdict=Verdict.ADAPTED,
        how="a dynamic GradScaler that never adjusts, because a static one tells of no skips",
        code="CC342",
        probe="paddle/test_scaler.py::test_static_scaler_tells_of_no_skip",
        when=_static,
    ),
    Row(
        path="loss_scaling.mode",
        verdict=Verdict.ADAPTED,
        how="GradScaler disables itself unless float16 auto_cast comes first, as in the script",
        code="CC341",
        probe="paddle/test_scaler.py::test_scaler_switches_itself_off",
        when=_dynamic,
    ),
    Row(
        path="loss_scaling.min_scale",
        verdict=Verdict.ADAPTED,
        how="GradScaler knows no floor: it only tells of overflows, the script's LossScale decides",
        code="CC340",
        probe="paddle/test_scaler.py::test_scale_falls_to_zero",
        when=_dynamic,
    ),
    Row(
        path="loss_scaling.max_scale",
        verdict=Verdict.ADAPTED,
        how="GradScaler knows no ceiling: the script's LossScale decides about the scale",
        code="CC340",
        probe="paddle/test_scaler.py::test_scale_grows_to_infinity",
        when=_dynamic,
    ),
    Row(path="accumulation", how="loss divided before backward, which sums until clear_grad"),
    Row(path="clipping", how="clip_grad_norm_ or clip_grad_value_ after unscale_"),
    Row(
        path="clipping.eps",
        verdict=Verdict.ADAPTED,
        how="clip_grad_norm_ has a fixed epsilon of 1e-6: the script clips by itself",
        code="CC343",
        probe="paddle/test_clip.py::test_clip_adds_a_fixed_epsilon",
        when=_own_clip,
    ),
    Row(path="optimizer", how="paddle.optimizer, the neutral formulas"),
    Row(path="optimizer.no_decay", how="generated parameter names for AdamW, else groups"),
    Row(path="schedule", how="a formula in the script, set by set_lr"),
    Row(path="distributed", how="DataParallel, no_sync within a window, distributed.launch"),
)
