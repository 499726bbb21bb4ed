"""What PyTorch can express of precision and loss scaling, in each generation of its API."""

from __future__ import annotations

from crosscast.plan import predicates
from crosscast.recipe.predicates import own_half_model
from crosscast.targets.capability import Evidence, Row, StepCondition, Verdict
from crosscast_torch.target.adaptations import TorchAdaptation
from crosscast_torch.target.conditions import (
    copies_weights,
    cumulative_hysteresis,
    highest_scale,
    lowest_scale,
    stock_scale,
    writes_casts,
)

NEW = frozenset({"torch.amp"})
OLD = frozenset({"torch.cuda.amp", "torch.cuda.amp-1.6"})
NO_GPU = "none: needs a GPU and a PyTorch before 2.4"


def _gpu_only(path: str, step: StepCondition) -> Row:
    return Row(
        path=path,
        verdict=Verdict.ADAPTED,
        how="half precision on GPUs only: the script refuses to run on a CPU",
        code="CC316",
        evidence=Evidence.MEASURED_GPU,
        probe="gpu/test_dialects.py::test_older_dialects_train_alike",
        step=step,
        adapt=TorchAdaptation.GPU_ONLY,
        dialects=OLD,
    )


AMP_ROWS = (
    Row(
        path="precision",
        how="half copies of the weights of layers; their operations follow them",
        when=copies_weights,
        adapt=TorchAdaptation.HALF_COPIES,
        dialects=NEW,
    ),
    Row(
        path="precision",
        how="half weights: the emitted model casts between operations",
        when=writes_casts,
        step=predicates.half_weights,
        adapt=TorchAdaptation.EXPLICIT_CASTS,
    ),
    Row(
        path="precision",
        how="casts written out in the emitted model; float32 parameters",
        when=writes_casts,
        adapt=TorchAdaptation.EXPLICIT_CASTS,
    ),
    Row(
        path="precision",
        how="half weights: in your model, autocast casts between operations",
        step=predicates.half_weights,
        adapt=TorchAdaptation.AUTOCAST,
    ),
    Row(
        path="precision",
        how="torch.autocast around the forward pass; float32 parameters",
        step=predicates.mixed,
        adapt=TorchAdaptation.AUTOCAST,
        dialects=NEW,
    ),
    Row(
        path="precision",
        how="torch.cuda.amp.autocast around the forward pass; float32 parameters",
        evidence=Evidence.MEASURED_GPU,
        step=predicates.mixed,
        adapt=TorchAdaptation.AUTOCAST,
        dialects=OLD,
    ),
    Row(path="precision", how="float32 parameters, float32 operations"),
    Row(
        path="precision.ops",
        how="half kernels, which compute in float32 and round once; embeddings and loss are cast",
        probe="torch/test_half_kernels.py::test_kernels_round_once",
        when=copies_weights,
        adapt=TorchAdaptation.HALF_COPIES,
        dialects=NEW,
    ),
    Row(
        path="precision.ops",
        how="casts written out in the emitted model",
        when=writes_casts,
        adapt=TorchAdaptation.EXPLICIT_CASTS,
    ),
    Row(
        path="precision.ops",
        how="your model and autocast decide; the loss is float32",
        when=own_half_model,
    ),
    Row(
        path="precision.ops",
        how="autocast, and .float() where it differs between devices",
        step=predicates.mixed,
    ),
    Row(path="precision.ops", how="everything in float32"),
    Row(
        path="precision.param_dtype",
        how="files hold the float32 masters and your model's half weights, between which autocast "
        "casts",
        when=own_half_model,
        step=predicates.half_weights,
        adapt=TorchAdaptation.AUTOCAST,
    ),
    Row(
        path="precision.param_dtype",
        how="files hold the float32 masters and the model's half weights",
        step=predicates.half_weights,
    ),
    Row(
        path="precision.mode",
        verdict=Verdict.UNSUPPORTED,
        how="torch.cuda.amp.autocast takes no dtype before PyTorch 1.10",
        code="CC318",
        evidence=Evidence.DOCUMENTED,
        probe=NO_GPU,
        step=predicates.bfloat16,
        dialects=frozenset({"torch.cuda.amp-1.6"}),
    ),
    Row(
        path="precision.mode",
        verdict=Verdict.ADAPTED,
        how="torch.optim would update half weights in half: it updates float32 masters instead",
        code="CC364",
        probe="torch/test_optimizer.py::test_optimizers_update_half_weights_in_half",
        step=predicates.half_weights,
        adapt=TorchAdaptation.MASTER_WEIGHTS,
    ),
    Row(
        path="precision.mode",
        how="float32 weights, and half copies made once per window (not per micro-batch)",
        when=copies_weights,
        adapt=TorchAdaptation.MASTER_WEIGHTS,
        dialects=NEW,
    ),
    _gpu_only("precision.mode", predicates.mixed),
    _gpu_only("precision.compute_dtype", predicates.half_weights),
    Row(path="precision.tf32", how="set_float32_matmul_precision", dialects=NEW),
    Row(path="precision.tf32", how="torch.backends.cuda.matmul.allow_tf32", dialects=OLD),
    Row(
        path="loss_scaling",
        how="torch.amp.GradScaler",
        step=predicates.scaled,
        dialects=NEW,
    ),
    Row(
        path="loss_scaling",
        how="torch.cuda.amp.GradScaler",
        evidence=Evidence.MEASURED_GPU,
        step=predicates.scaled,
        dialects=OLD,
    ),
    Row(path="loss_scaling", how="the loss is not scaled"),
    Row(
        path="loss_scaling.growth_factor",
        verdict=Verdict.ADAPTED,
        how="GradScaler grows to inf before PyTorch 2.1: the script keeps the last finite scale",
        code="CC317",
        evidence=Evidence.DOCUMENTED,
        probe=NO_GPU,
        step=stock_scale,
        dialects=OLD,
        adapt=TorchAdaptation.FINITE_GROWTH,
    ),
    Row(
        path="loss_scaling.mode",
        verdict=Verdict.ADAPTED,
        how="GradScaler, its scale reset to the constant after every step",
        code="CC312",
        probe="torch/test_scaler.py::test_scaler_is_always_dynamic",
        step=predicates.static,
        adapt=TorchAdaptation.CONSTANT_SCALE,
    ),
    Row(
        path="loss_scaling.min_scale",
        verdict=Verdict.ADAPTED,
        how="GradScaler has no floor: the script clamps the scale after update()",
        code="CC310",
        probe="torch/test_scaler.py::test_scale_falls_below_any_floor",
        step=lowest_scale,
        adapt=TorchAdaptation.SCALE_BOUNDS,
    ),
    Row(
        path="loss_scaling.max_scale",
        verdict=Verdict.ADAPTED,
        how="GradScaler has no ceiling: the script clamps the scale after update()",
        code="CC310",
        probe="torch/test_scaler.py::test_scale_grows_above_any_ceiling",
        step=highest_scale,
        adapt=TorchAdaptation.SCALE_BOUNDS,
    ),
    Row(
        path="loss_scaling.hysteresis",
        verdict=Verdict.ADAPTED,
        how="GradScaler only reports overflows; the script's LossScale sets the scale",
        code="CC311",
        probe="torch/test_scaler.py::test_scaler_backs_off_at_first_overflow",
        step=predicates.hysteresis,
        adapt=TorchAdaptation.LOSS_SCALE,
    ),
    Row(
        path="loss_scaling.hysteresis_mode",
        verdict=Verdict.ADAPTED,
        how="GradScaler only reports overflows; the script's LossScale counts them",
        code="CC311",
        probe="torch/test_scaler.py::test_scaler_backs_off_at_first_overflow",
        step=cumulative_hysteresis,
        adapt=TorchAdaptation.LOSS_SCALE,
    ),
)
