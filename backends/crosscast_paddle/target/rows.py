"""What Paddle can express, and how. One row a fact; see crosscast.targets.capability.Row."""

from __future__ import annotations

from crosscast.plan import predicates
from crosscast.targets.capability import Evidence, Row, Verdict
from crosscast.targets.neutral_rows import is_elastic, neutral_rows
from crosscast.targets.tracking_rows import TRACKING_ROWS
from crosscast_paddle.target.adaptations import PaddleAdaptation as Adapt
from crosscast_paddle.target.attention_rows import ATTENTION_ROWS
from crosscast_paddle.target.conditions import copies_weights, wide_norm_eps
from crosscast_paddle.target.event_rows import EVENT_FILES
from crosscast_paddle.target.knob_rows import KNOB_ROWS

ROWS = (
    *neutral_rows("paddle"),
    *TRACKING_ROWS,
    EVENT_FILES,
    Row(path="seed", how="paddle.seed; NumPy orders the rows"),
    Row(path="model", how="nn.Layer with explicit types, or the user's factory"),
    Row(
        path="model.layer_norm_eps",
        verdict=Verdict.UNSUPPORTED,
        how="layer_norm rejects an epsilon above 1e-3",
        code="CC346",
        probe="paddle/test_layer_norm.py::test_epsilon_above_a_thousandth_is_refused",
        when=wide_norm_eps,
    ),
    *ATTENTION_ROWS,
    Row(path="data", how="read as NumPy arrays, the same row order on every framework"),
    Row(path="data.workers", how="processes of paddle.io.DataLoader"),
    Row(path="batch", how="rows of a window cut into micro-batches"),
    Row(
        path="precision",
        how="half copies of the weights of layers; a disabled auto_cast tells GradScaler the type",
        step=predicates.scaled,
        when=copies_weights,
        adapt=Adapt.AUTO_CAST,
    ),
    Row(
        path="precision",
        how="half copies of the weights of layers; their operations follow them",
        when=copies_weights,
    ),
    Row(
        path="precision",
        how="paddle.amp.auto_cast O1 around the forward pass",
        step=predicates.half,
        adapt=Adapt.AUTO_CAST,
    ),
    Row(path="precision", how="float32 throughout"),
    Row(
        path="precision.mode",
        verdict=Verdict.ADAPTED,
        how="a CPU has no half kernels: the script then exits with code 3",
        code="CC345",
        probe="paddle/test_half.py::test_the_cpu_has_no_half_kernels_but_those_that_move_data",
        when=copies_weights,
        adapt=Adapt.REQUIRED_AMP,
    ),
    Row(
        path="precision.mode",
        verdict=Verdict.ADAPTED,
        how="auto_cast computes in float32 on a CPU: the script then exits with code 3",
        code="CC345",
        probe="paddle/test_amp.py::test_auto_cast_computes_in_float32_on_cpu",
        step=predicates.half,
        adapt=Adapt.REQUIRED_AMP,
    ),
    Row(
        path="precision.tf32",
        how="NVIDIA_TF32_OVERRIDE, because Paddle's default changes between releases",
        evidence=Evidence.DOCUMENTED,
    ),
    Row(path="loss_scaling", how="paddle.amp.GradScaler", step=predicates.scaled),
    Row(path="loss_scaling", how="the loss is not scaled"),
    Row(
        path="loss_scaling.mode",
        verdict=Verdict.ADAPTED,
        how="a dynamic GradScaler that never adjusts, because a static one does not report skips",
        code="CC342",
        probe="paddle/test_scaler.py::test_static_scaler_tells_of_no_skip",
        step=predicates.static,
        adapt=Adapt.CONSTANT_SCALE,
    ),
    Row(
        path="loss_scaling.mode",
        verdict=Verdict.ADAPTED,
        how="GradScaler disables itself unless float16 auto_cast comes first, as in the script",
        code="CC341",
        probe="paddle/test_scaler.py::test_scaler_switches_itself_off",
        step=predicates.dynamic,
        adapt=Adapt.AUTO_CAST,
    ),
    Row(
        path="loss_scaling.min_scale",
        verdict=Verdict.ADAPTED,
        how="GradScaler has no floor: it only reports overflows; the script's LossScale sets "
        "the scale",
        code="CC340",
        probe="paddle/test_scaler.py::test_scale_falls_to_zero",
        step=predicates.lowest_scale,
        adapt=Adapt.LOSS_SCALE,
    ),
    Row(
        path="loss_scaling.max_scale",
        verdict=Verdict.ADAPTED,
        how="GradScaler has no ceiling: the script's LossScale sets the scale",
        code="CC340",
        probe="paddle/test_scaler.py::test_scale_grows_to_infinity",
        step=predicates.dynamic,
        adapt=Adapt.LOSS_SCALE,
    ),
    Row(
        path="loss_scaling.init_scale",
        verdict=Verdict.ADAPTED,
        how="a disabled GradScaler has no scale: the script does not query it",
        code="CC347",
        probe="paddle/test_amp.py::test_a_scaler_that_is_off_has_no_scale_in_paddle_2",
        step=predicates.scaled,
        dialects=frozenset({"dygraph2"}),
        adapt=Adapt.SCALE_WHEN_OFF,
    ),
    Row(
        path="loss_scaling.scale",
        verdict=Verdict.ADAPTED,
        how="a disabled GradScaler has no scale: the script does not query it",
        code="CC347",
        probe="paddle/test_amp.py::test_a_scaler_that_is_off_has_no_scale_in_paddle_2",
        step=predicates.scaled,
        dialects=frozenset({"dygraph2"}),
        adapt=Adapt.SCALE_WHEN_OFF,
    ),
    Row(
        path="loss_scaling.backoff_factor",
        verdict=Verdict.ADAPTED,
        how="GradScaler crashes with NumPy 2.4 when it backs off: LossScale backs off instead",
        code="CC348",
        probe="paddle/test_hazards.py::test_a_back_off_converts_as_numpy_2_4_forbids",
        step=predicates.dynamic,
        adapt=Adapt.LOSS_SCALE,
    ),
    Row(path="accumulation", how="loss divided before backward, which sums until clear_grad"),
    Row(
        path="clipping",
        verdict=Verdict.ADAPTED,
        how="clip_grad_norm_ loses digits in large gradients: the script sums the squares",
        code="CC352",
        probe="paddle/test_clip.py::test_the_norm_of_large_tensors_loses_digits",
        step=predicates.clips_norm,
        adapt=Adapt.OWN_CLIP,
    ),
    Row(path="clipping", how="clip_grad_value_ after unscale_", step=predicates.clips),
    Row(path="clipping", how="gradients are not clipped: only their norm is reported"),
    *KNOB_ROWS,
    Row(path="optimizer", how="paddle.optimizer, the neutral formulas"),
    Row(path="optimizer.no_decay", how="parameter names for AdamW, parameter groups otherwise"),
    Row(
        path="optimizer.groups",
        how="parameter groups with weight_decay and learning_rate",
        step=predicates.grouped,
    ),
    Row(path="optimizer.groups", how="none"),
    Row(path="schedule", how="a formula in the script, set by set_lr"),
    Row(
        path="launch.rendezvous",
        verdict=Verdict.UNSUPPORTED,
        how="the elastic launcher needs an etcd server: write rendezvous: static",
        code="CC384",
        probe="paddle/test_launcher.py::test_only_etcd_makes_the_launcher_elastic",
        when=is_elastic,
    ),
    Row(
        path="distributed",
        how="DataParallel, no_sync within a window, distributed.launch",
        step=predicates.parallel,
    ),
    Row(path="distributed", how="one process"),
)
