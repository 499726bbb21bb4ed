"""What PyTorch can express, and how. One row a fact; see crosscast.capability.Row."""

from __future__ import annotations

from crosscast.capability import Row, Verdict
from crosscast.codes import Code
from crosscast.neutral_rows import NEUTRAL_ROWS
from crosscast.recipe import CustomModel, DynamicLossScaling, GlobalNormClipping, Recipe, Sgd

CODES = (
    Code(
        "CC310",
        "loss scale has no bounds",
        "torch.amp.GradScaler falls to 0 and grows without limit; the script clamps it.",
    ),
    Code(
        "CC311",
        "loss scale has no hysteresis",
        "torch.amp.GradScaler backs off at the first overflow; the script keeps its own counter.",
    ),
    Code(
        "CC312",
        "no static loss scale",
        "torch.amp.GradScaler is always dynamic; the script sets the scale back every step.",
    ),
    Code(
        "CC313",
        "clip formula differs",
        "clip_grad_norm_ always adds 1e-6 to the norm; the script clips by itself.",
    ),
    Code(
        "CC314",
        "custom model without a factory",
        "Name a function under model.factory.torch that returns the model.",
    ),
    Code(
        "CC315",
        "no fused momentum under loss scaling",
        "Fused SGD goes on from uninitialised memory when its first step was skipped.",
    ),
)


def _dynamic(recipe: Recipe) -> bool:
    return isinstance(recipe.loss_scaling, DynamicLossScaling)


def _hysteresis(recipe: Recipe) -> bool:
    scaling = recipe.loss_scaling
    return isinstance(scaling, DynamicLossScaling) and scaling.hysteresis > 1


def _static(recipe: Recipe) -> bool:
    return recipe.loss_scaling.mode == "static"


def scaled_momentum(recipe: Recipe) -> bool:
    """Whether momentum could meet a skipped first step."""
    optimizer = recipe.optimizer
    return isinstance(optimizer, Sgd) and optimizer.momentum > 0 and recipe.scaling_on


def _own_clip(recipe: Recipe) -> bool:
    return isinstance(recipe.clipping, GlobalNormClipping) and recipe.clipping.eps != 1e-6


def _no_factory(recipe: Recipe) -> bool:
    return isinstance(recipe.model, CustomModel) and "torch" not in recipe.model.factory


ROWS = (
    *NEUTRAL_ROWS,
    Row(path="seed", how="torch.manual_seed; NumPy orders the rows"),
    Row(
        path="model",
        verdict=Verdict.UNSUPPORTED,
        how="model.factory names no function for torch",
        code="CC314",
        probe="none: a fact about the recipe",
        when=_no_factory,
    ),
    Row(path="model", how="nn.Module with explicit types, or the user's factory"),
    Row(path="data", how="npz read with NumPy, the same row order on every framework"),
    Row(path="batch", how="rows of a window cut into micro-batches"),
    Row(path="precision", how="torch.autocast around the forward pass; float32 parameters"),
    Row(path="precision.tf32", how="set_float32_matmul_precision"),
    Row(path="loss_scaling", how="torch.amp.GradScaler"),
    Row(
        path="loss_scaling.mode",
        verdict=Verdict.ADAPTED,
        how="GradScaler whose scale is set back to the constant after every step",
        code="CC312",
        probe="torch/test_scaler.py::test_scaler_is_always_dynamic",
        when=_static,
    ),
    Row(
        path="loss_scaling.min_scale",
        verdict=Verdict.ADAPTED,
        how="GradScaler knows no floor: the script clamps the scale after update()",
        code="CC310",
        probe="torch/test_scaler.py::test_scale_falls_below_any_floor",
        when=_dynamic,
    ),
    Row(
        path="loss_scaling.max_scale",
        verdict=Verdict.ADAPTED,
        how="GradScaler knows no ceiling: the script clamps the scale after update()",
        code="CC310",
        probe="torch/test_scaler.py::test_scale_grows_above_any_ceiling",
        when=_dynamic,
    ),
    Row(
        path="loss_scaling.hysteresis",
        verdict=Verdict.ADAPTED,
        how="GradScaler only tells of overflows; the script's LossScale decides",
        code="CC311",
        probe="torch/test_scaler.py::test_scaler_backs_off_at_first_overflow",
        when=_hysteresis,
    ),
    Row(path="accumulation", how="loss divided before backward, gradients summed in .grad"),
    Row(path="clipping", how="clip_grad_norm_ or clip_grad_value_ after unscale_"),
    Row(
        path="clipping.eps",
        verdict=Verdict.ADAPTED,
        how="clip_grad_norm_ has a fixed epsilon of 1e-6: the script clips by itself",
        code="CC313",
        probe="torch/test_clip.py::test_clip_adds_a_fixed_epsilon",
        when=_own_clip,
    ),
    Row(path="optimizer", how="torch.optim, the neutral formulas"),
    Row(
        path="optimizer.momentum",
        verdict=Verdict.ADAPTED,
        how="SGD without fused kernels, whose momentum is uninitialised after a skipped first step",
        code="CC315",
        probe="torch/test_scaler.py::test_fused_momentum_starts_uninitialised",
        when=scaled_momentum,
    ),
    Row(path="optimizer.no_decay", how="parameter groups by module type and name"),
    Row(path="schedule", how="a formula in the script, set on the parameter groups"),
    Row(path="distributed", how="DistributedDataParallel, no_sync within a window, torchrun"),
)
