"""Defaults of Paddle by version, read by tests/probes/paddle/test_defaults.py."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast.targets.defaults import Defaults, Value
from crosscast_paddle.target.classic_scripts import SCRIPTS, Script

_RAN = ("3.3.1", "3.0.0", "2.6.2")
"""Versions on which the probe ran over the whole table."""

_NO_BOUNDS: Mapping[str, Value] = {"loss_scaling.min_scale": None, "loss_scaling.max_scale": None}
_FLOOR: Mapping[str, Value] = {"loss_scaling.min_scale": 1.0}
_NEW_SCALE: Mapping[str, Value] = {
    "init_loss_scaling": 2.0**16,
    "incr_ratio": 2.0,
    "decr_ratio": 0.5,
    "incr_every_n_steps": 2000,
    "decr_every_n_nan_or_inf": 1,
}
_OLD_SCALE: Mapping[str, Value] = {
    "init_loss_scaling": 2.0**15,
    "incr_ratio": 2.0,
    "decr_ratio": 0.5,
    "incr_every_n_steps": 1000,
}
_STATIC_SCALE: Mapping[str, Value] = {
    **_OLD_SCALE,
    "decr_ratio": 0.8,
    "decr_every_n_nan_or_inf": 2,
    "use_dynamic_loss_scaling": True,
}
_BETAS: Mapping[str, Value] = {"beta1": 0.9, "beta2": 0.999}
_O1: Mapping[str, Value] = {"enable": True, "level": "O1", "dtype": "float16"}


def _paddle(
    name: str,
    source: str,
    arguments: Mapping[str, Value],
    *,
    since: str = "2.5",
    until: str = "",
    form: str = "",
    fixed: Mapping[str, Value] | None = None,
    note: str = "",
) -> Defaults:
    entry = Defaults(
        api=f"paddle.{name}",
        package="paddle",
        since=since,
        until=until,
        form=form,
        arguments=arguments,
        fixed=fixed or {},
        source=source,
        note=note,
    )
    return entry.measured_on(_RAN)


def _fluid(name: str, source: str, arguments: Mapping[str, Value], **fixed: Value) -> Defaults:
    """Return an entry of Paddle 1, whose names went with 2.5; read in 1.8.5 by hand."""
    return Defaults(
        api=f"paddle.fluid.{name}",
        package="paddle",
        since="1.0",
        until="2.5",
        arguments=arguments,
        fixed={path.replace("__", "."): value for path, value in fixed.items()},
        measured=("1.8.5",),
        source=source,
    )


_OF_FLUID = "python/paddle/fluid/optimizer.py"
FLUID: tuple[Defaults, ...] = (
    _fluid("optimizer.Adam", _OF_FLUID, {"learning_rate": 0.001, **_BETAS, "epsilon": 1e-8}),
    _fluid("optimizer.SGD", _OF_FLUID, {}, optimizer__momentum=0.0),
    _fluid("optimizer.Momentum", _OF_FLUID, {"use_nesterov": False}),
    _fluid(
        "optimizer.Lamb",
        _OF_FLUID,
        {"learning_rate": 0.001, "lamb_weight_decay": 0.01, **_BETAS, "epsilon": 1e-6},
    ),
    _fluid("clip.GradientClipByGlobalNorm", "python/paddle/fluid/clip.py", {}, clipping__eps=0.0),
)
"""What is gone from the versions that the probe runs on."""
PADDLE: tuple[Defaults, ...] = (
    _paddle(
        "amp.GradScaler",
        "paddle/amp/grad_scaler.py",
        {"enable": True, **_NEW_SCALE, "use_dynamic_loss_scaling": True},
        fixed=_NO_BOUNDS,
        note="decr_every_n_nan_or_inf counts consecutive overflows",
    ),
    _paddle(
        "amp.GradScaler",
        "documentation of paddle.amp.GradScaler 2.2; the bounds: "
        "python/paddle/fluid/dygraph/amp/loss_scaler.py at 048bd895",
        {**_OLD_SCALE, "decr_every_n_nan_or_inf": 2, "use_dynamic_loss_scaling": True},
        since="2.0",
        until="2.5",
        fixed=_NO_BOUNDS,
    ),
    _paddle(
        "amp.AmpScaler",
        "paddle/amp/grad_scaler.py",
        {**_OLD_SCALE, "decr_every_n_nan_or_inf": 1, "use_dynamic_loss_scaling": True},
        fixed=_NO_BOUNDS,
        note="the docstring says 2 for decr_every_n_nan_or_inf",
    ),
    _paddle("amp.auto_cast", "paddle/amp/auto_cast.py", {**_O1, "use_promote": True}),
    _paddle("amp.auto_cast", "documentation of 2.2", _O1, since="2.2", until="2.5"),
    _paddle(
        "amp.decorate",
        "paddle/amp/auto_cast.py",
        {"level": "O1", "dtype": "float16", "master_weight": None, "master_grad": False},
        note="master_weight None means float32 masters at O2",
    ),
    _paddle(
        "static.amp.decorate",
        "paddle/static/amp/decorator.py",
        {"level": "O1", "dtype": "float16", **_NEW_SCALE, "use_dynamic_loss_scaling": None},
        form="COMMON",
        fixed=_FLOOR,
        note="the overload with level, dtype or master_weight",
    ),
    _paddle(
        "static.amp.decorate",
        "paddle/static/amp/decorator.py",
        {**_STATIC_SCALE, "use_pure_fp16": False, "use_bf16": False},
        form="FP16_ONLY",
        fixed=_FLOOR,
        note="the overload with use_pure_fp16, use_fp16_guard or use_bf16",
    ),
    _paddle(
        "fluid.contrib.mixed_precision.decorate",
        "python/paddle/fluid/contrib/mixed_precision/decorator.py at 048bd895; the floor: "
        "fp16_utils.py beside it, later paddle/fluid/operators/amp/update_loss_scaling_op.h",
        _STATIC_SCALE,
        since="1.5",
        until="2.5",
        fixed=_FLOOR,
        note="the optimizer runs on zero gradients in skipped steps",
    ),
    _paddle(
        "distributed.fleet.DistributedStrategy.amp_configs",
        "paddle/distributed/fleet/base/distributed_strategy.py",
        _STATIC_SCALE,
        form="keys",
        fixed=_FLOOR,
    ),
    _paddle(
        "distributed.fleet.DistributedStrategy.gradient_merge_configs",
        "paddle/distributed/fleet/base/distributed_strategy.py",
        {"k_steps": 1, "avg": True},
        form="keys",
    ),
    _paddle(
        "incubate.optimizer.GradientMergeOptimizer",
        "paddle/incubate/optimizer/gradient_merge.py",
        {"k_steps": 1, "avg": True},
    ),
    _paddle("optimizer.SGD", "paddle/optimizer/sgd.py", {"learning_rate": 0.001}),
    _paddle(
        "optimizer.Momentum",
        "paddle/optimizer/momentum.py",
        {"learning_rate": 0.001, "momentum": 0.9, "use_nesterov": False, "weight_decay": None},
        note="static programs advance in skipped steps",
    ),
    _paddle(
        "optimizer.Adam",
        "paddle/optimizer/adam.py",
        {"learning_rate": 0.001, **_BETAS, "epsilon": 1e-8, "weight_decay": None},
        fixed={"optimizer.eps_placement": "after_correction"},
    ),
    _paddle(
        "optimizer.AdamW",
        "paddle/optimizer/adamw.py",
        {"learning_rate": 0.001, **_BETAS, "epsilon": 1e-8, "weight_decay": 0.01},
        note="apply_decay_param_fun receives generated names",
    ),
    _paddle(
        "optimizer.Lamb",
        "paddle/optimizer/lamb.py",
        {"learning_rate": 0.001, "lamb_weight_decay": 0.01, **_BETAS, "epsilon": 1e-6},
    ),
    _paddle(
        "optimizer.Lamb",
        "paddle/optimizer/lamb.py",
        {"always_adapt": False},
        since="2.6",
        form="always_adapt",
        note="without it a weight decay of 0 makes it Adam",
    ),
    _paddle(
        "nn.utils.clip_grad_norm_",
        "paddle/nn/utils/clip_grad_norm_.py",
        {"norm_type": 2.0, "error_if_nonfinite": False},
        fixed={"clipping.eps": 1e-6},
    ),
    _paddle(
        "nn.ClipGradByGlobalNorm",
        "paddle/nn/clip.py",
        {"group_name": "default_group"},
        fixed={"clipping.eps": 0.0},
    ),
    _paddle(
        "optimizer.lr.PolynomialDecay",
        "paddle/optimizer/lr.py",
        {"end_lr": 0.0001, "power": 1.0, "cycle": False},
    ),
    _paddle(
        "optimizer.lr.CosineAnnealingDecay",
        "paddle/optimizer/lr.py",
        {"eta_min": 0},
        note="climbs again after T_max",
    ),
    _paddle(
        "optimizer.lr.NoamDecay",
        "paddle/optimizer/lr.py",
        {"learning_rate": 1.0},
        note="the rate of step 0 is 0",
    ),
    _paddle("nn.LayerNorm", "paddle/nn/layer/norm.py", {"epsilon": 1e-5}),
    _paddle("nn.functional.gelu", "paddle/nn/functional/activation.py", {"approximate": False}),
    _paddle("nn.Embedding", "paddle/nn/layer/common.py", {"padding_idx": None}),
    _paddle(
        "nn.functional.cross_entropy",
        "paddle/nn/functional/loss.py",
        {"ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0},
    ),
)


def _flags(script: Script) -> Defaults:
    """Return the entry of a classic script: what its parser fills in about the training step."""
    defaults = {flag.name: flag.default for flag in script.flags if not flag.variable}
    dead = ", ".join(flag.name for flag in script.flags if flag.dead)
    return Defaults(
        api=f"--use_fp16 of {script.title}",
        package=script.name,
        arguments={name: value for name, value in defaults.items() if value is not None},
        fixed={
            "optimizer.eps": 1e-8,
            "clipping.max_norm": 1.0,
            "schedule.decay_from": "start",
            "schedule.tick": "attempt",
        },
        source=script.source,
        note=f"without effect: {dead}" if dead else "",
    )


SCRIPT_FLAGS: tuple[Defaults, ...] = tuple(_flags(script) for script in SCRIPTS.values())
"""Flags of the classic scripts for Paddle, whose own float16 code is not in Paddle."""

DEFAULTS: tuple[Defaults, ...] = (*PADDLE, *FLUID, *SCRIPT_FLAGS)
