"""What a static graph of paddle.distributed.fleet can express, measured with Paddle 2.6 on CPU."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from crosscast.plan import predicates
from crosscast.recipe import predicates as recipes
from crosscast.recipe.document import (
    Adam,
    AdamW,
    OpTypes,
    PerParamNormClipping,
    Recipe,
    Sgd,
)
from crosscast.targets.capability import Evidence, Row, Verdict
from crosscast.targets.tracking_rows import TRACKING_ROWS
from crosscast_paddle.target.adaptations import PaddleAdaptation as Adapt
from crosscast_paddle.target.attention_rows import FLEET_ATTENTION
from crosscast_paddle.target.conditions import adds_to_norm, other_loss, wide_norm_eps
from crosscast_paddle.target.event_rows import EVENT_FILES


def _other_half(recipe: Recipe) -> bool:
    precision = recipe.precision
    mixed = precision.mode == "mixed" and precision.compute_dtype == "float16"
    return precision.mode != "none" and not mixed


def _other_types(recipe: Recipe) -> bool:
    return not _other_half(recipe) and recipe.precision.ops != OpTypes()


def _exempts(recipe: Recipe) -> bool:
    clipping = recipe.clipping
    return clipping.kind != "none" and (
        isinstance(clipping, PerParamNormClipping) or bool(clipping.exempt)
    )


def _other_optimizer(recipe: Recipe) -> bool:
    return not isinstance(recipe.optimizer, Sgd | Adam | AdamW)


def _other_form(recipe: Recipe) -> bool:
    optimizer = recipe.optimizer
    if isinstance(optimizer, Adam | AdamW):
        return optimizer.eps_placement != "after_correction" or not optimizer.bias_correction
    return isinstance(optimizer, Sgd) and optimizer.rate_in_momentum


def _coupled_roles(recipe: Recipe) -> bool:
    optimizer = recipe.optimizer
    coupled = isinstance(optimizer, Sgd | Adam) and optimizer.weight_decay > 0
    return coupled and bool(optimizer.no_decay)


def _coasts(recipe: Recipe) -> bool:
    optimizer = recipe.optimizer
    moves = isinstance(optimizer, Sgd) and bool(optimizer.momentum or optimizer.weight_decay)
    return recipe.scaling_on and moves


PROBES = "paddle/test_fleet.py::"
HERE = "none: a limit of the script, not of the framework"
_row = partial(Row, dialects=frozenset({"fleet"}))
_not = partial(_row, verdict=Verdict.UNSUPPORTED, probe=HERE)
_own = partial(_row, verdict=Verdict.ADAPTED)

FLEET_ROWS = (
    _row(path="seed", how="paddle.seed; NumPy orders the rows and draws fresh weights"),
    _not(path="model", how="only the shipped BERT", code="CC388", when=recipes.own_model),
    _not(
        path="model.layer_norm_eps",
        how="layer_norm rejects an epsilon above 1e-3",
        code="CC346",
        probe="paddle/test_layer_norm.py::test_epsilon_above_a_thousandth_is_refused",
        when=wide_norm_eps,
    ),
    *FLEET_ATTENTION,
    _row(path="model", how="the same nn.Layer, built into a program"),
    _row(path="data", how="read as NumPy arrays, the same row order on every framework"),
    _row(path="data.workers", how="processes of paddle.io.DataLoader"),
    _not(
        path="loss",
        how="cross-entropy of `labels`, without smoothing or weights of classes",
        code="CC386",
        when=other_loss,
    ),
    _row(path="loss", how="cross-entropy in float32, in the program"),
    _not(path="metrics", how="loss and accuracy", code="CC386", when=recipes.own_metrics),
    _row(path="metrics", how="none of your own"),
    _row(path="batch", how="rows of a window cut into micro-batches"),
    _not(
        path="precision",
        how="float16 in dense layers and attention products, or none",
        code="CC389",
        when=_other_half,
    ),
    _not(
        path="precision",
        how="AMP computes and stores all but dense layers and attention products in float32: write "
        "precision.policy: float32_stream, without precision.ops",
        code="CC389",
        when=_other_types,
    ),
    _own(
        path="precision.mode",
        how="AMP computes in float32 on a CPU: the script then exits with code 3",
        code="CC345",
        probe=f"{PROBES}test_amp_computes_in_float32_on_cpu",
        step=predicates.mixed,
        adapt=Adapt.REQUIRED_AMP,
    ),
    _row(
        path="precision.tf32",
        how="NVIDIA_TF32_OVERRIDE, because Paddle's default changes between releases",
        evidence=Evidence.DOCUMENTED,
    ),
    _row(
        path="precision",
        how="AMP with lists that run only matmul_v2 in half precision",
        step=predicates.mixed,
        adapt=Adapt.AMP,
    ),
    _row(path="precision", how="float32 throughout"),
    _own(
        path="loss_scaling",
        how="AMP's scaler has a floor of 1 and no ceiling: it only reports overflows",
        code="CC340",
        probe=f"{PROBES}test_the_scaler_has_a_floor_of_one",
        step=predicates.dynamic,
        adapt=Adapt.LOSS_SCALE,
    ),
    _own(
        path="loss_scaling",
        how="a dynamic scaler that never adjusts, because a static one does not report skips",
        code="CC342",
        probe=f"{PROBES}test_a_constant_scale_tells_of_no_skip",
        step=predicates.static,
        adapt=Adapt.CONSTANT_SCALE,
    ),
    _row(path="loss_scaling", how="none"),
    _own(
        path="accumulation",
        how="losses are divided in the program; short windows are padded with rows of weight 0",
        code="CC397",
        probe=f"{PROBES}test_gradient_merge_waits_for_a_full_window",
        when=recipes.accumulates,
        adapt=Adapt.MERGE,
    ),
    _row(path="accumulation", how="one micro-batch a window"),
    _not(
        path="clipping",
        how="every gradient is clipped, by the global norm or by value",
        code="CC394",
        when=_exempts,
    ),
    _own(
        path="clipping.eps",
        how="ClipGradByGlobalNorm adds nothing to the norm: the script implements clipping",
        code="CC343",
        probe=f"{PROBES}test_the_stock_clip_adds_nothing_to_the_norm",
        step=adds_to_norm,
        adapt=Adapt.OWN_CLIP,
    ),
    _row(path="clipping", how="in the program, after the check for overflows"),
    _not(path="optimizer", how="SGD, Adam or AdamW", code="CC395", when=_other_optimizer),
    _not(
        path="optimizer",
        how="on overflow SGD steps with zero gradients: momentum coasts, weights decay",
        code="CC390",
        probe=f"{PROBES}test_momentum_coasts_on_overflow",
        when=_coasts,
    ),
    _not(path="optimizer", how="Paddle's own variant", code="CC395", when=_other_form),
    _not(
        path="optimizer.groups",
        how="one learning rate and decay for all parameters",
        code="CC395",
        step=predicates.grouped,
    ),
    _not(
        path="optimizer.no_decay",
        how="coupled decay has no exceptions in a static graph",
        code="CC395",
        when=_coupled_roles,
    ),
    _row(
        path="optimizer.betas",
        verdict=Verdict.APPROXIMATE,
        how="kernels compute 1 - beta in float32, which is over 1e-4 off for betas this close to 1",
        code="CC383",
        probe="paddle/test_optimizer.py::test_kernels_take_one_minus_beta_in_float32",
        step=predicates.rounds_shares,
    ),
    _row(path="optimizer", how="paddle.optimizer, skipped by the program on overflow"),
    _row(path="schedule", how="a formula in the script, set through LambdaDecay"),
    _not(path="ema", how="weights are not averaged", code="CC386", step=predicates.averages),
    _not(
        path="activation_checkpointing",
        how="activations are kept",
        code="CC386",
        when=recipes.recomputes,
    ),
    _row(path="activation_checkpointing", how="activations are kept"),
    _not(path="distributed", how="one process", code="CC386", step=predicates.parallel),
    _row(path="distributed", how="one process"),
    _row(path="launch", how="launch.sh, and job.sbatch with SLURM"),
    *(replace(row, dialects=frozenset({"fleet"})) for row in (*TRACKING_ROWS, EVENT_FILES)),
)
