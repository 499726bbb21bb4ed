"""Defaults of PyTorch by version. The probe tests/probes/torch/test_defaults.py reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from crosscast.targets.defaults import Defaults, Value

_RAN = ("2.13.0", "2.3.1", "1.13.1", "1.10.2", "1.8.1")
"""Versions on which the probe ran over the whole table."""
_NO_BOUNDS: Mapping[str, Value] = {
    "loss_scaling.hysteresis": 1,
    "loss_scaling.min_scale": None,
    "loss_scaling.max_scale": None,
}
_SCALER: Mapping[str, Value] = {
    "init_scale": 65536.0,
    "growth_factor": 2.0,
    "backoff_factor": 0.5,
    "growth_interval": 2000,
    "enabled": True,
}
_SGD: Mapping[str, Value] = {
    "momentum": 0,
    "dampening": 0,
    "weight_decay": 0,
    "nesterov": False,
}
_ADAM: Mapping[str, Value] = {
    "lr": 0.001,
    "betas": (0.9, 0.999),
    "eps": 1e-8,
    "amsgrad": False,
}


def _torch(
    api: str,
    source: str,
    arguments: Mapping[str, Value],
    *,
    since: str = "",
    until: str = "",
    fixed: Mapping[str, Value] | None = None,
    note: str = "",
) -> Defaults:
    entry = Defaults(
        api=f"torch.{api}",
        package="torch",
        since=since,
        until=until,
        arguments=arguments,
        fixed=fixed or {},
        source=f"torch/{source}",
        note=note,
    )
    return entry.measured_on(_RAN)


_SCHEDULERS = "optim/lr_scheduler.py"
_CUDA_AUTOCAST = "cuda/amp/autocast_mode.py"
_CLIP = "nn/utils/clip_grad.py"
_EPS: Mapping[str, Value] = {"clipping.eps": 1e-6}

DEFAULTS: tuple[Defaults, ...] = (
    _torch(
        "amp.GradScaler",
        "amp/grad_scaler.py",
        {"device": "cuda", **_SCALER},
        since="2.3",
        fixed=_NO_BOUNDS,
        note="where growth would overflow float32 the scale is kept",
    ),
    _torch(
        "cuda.amp.GradScaler",
        "cuda/amp/grad_scaler.py",
        _SCALER,
        since="2.3",
        fixed=_NO_BOUNDS,
    ),
    replace(
        _torch(
            "cuda.amp.GradScaler",
            "cuda/amp/grad_scaler.py, aten/src/ATen/native/cuda/AmpKernels.cu",
            _SCALER,
            since="1.6",
            until="2.3",
            fixed=_NO_BOUNDS,
            note="before 2.1 it grows to inf; the probe read the arguments alone (1.8.1 to 1.13.1)",
        ),
        measured=(),
    ),
    _torch(
        "autocast",
        "amp/autocast_mode.py",
        {"dtype": None, "enabled": True, "cache_enabled": None},
        since="1.12",
        note="dtype None: float16 on CUDA, bfloat16 on CPU",
    ),
    _torch(
        "autocast",
        "autocast_mode.py",
        {"enabled": True},
        since="1.10",
        until="1.12",
        note="float16 on CUDA, bfloat16 on CPU",
    ),
    _torch(
        "cuda.amp.autocast",
        _CUDA_AUTOCAST,
        {"enabled": True, "dtype": "float16", "cache_enabled": True},
        since="1.10",
    ),
    _torch("cuda.amp.autocast", _CUDA_AUTOCAST, {"enabled": True}, since="1.6", until="1.10"),
    _torch(
        "cpu.amp.autocast",
        "cpu/amp/autocast_mode.py",
        {"enabled": True, "dtype": "bfloat16", "cache_enabled": True},
        since="1.10",
    ),
    _torch("optim.SGD", "optim/sgd.py", {"lr": 0.001, **_SGD}, since="2.2"),
    _torch(
        "optim.SGD",
        "optim/sgd.py",
        _SGD,
        until="2.2",
        note="lr has no default; pytorch pull request 114467 gave it one",
    ),
    _torch("optim.Adam", "optim/adam.py", {**_ADAM, "weight_decay": 0}, note="decay is coupled"),
    _torch("optim.AdamW", "optim/adamw.py", {**_ADAM, "weight_decay": 0.01}, since="1.2"),
    _torch(
        "optim.Adafactor",
        "optim/_adafactor.py",
        {"lr": 0.01, "beta2_decay": -0.8, "eps": (None, 0.001), "d": 1.0, "weight_decay": 0.0},
        since="2.5",
    ),
    _torch(
        "nn.utils.clip_grad_norm_",
        _CLIP,
        {"norm_type": 2.0, "error_if_nonfinite": False},
        since="1.9",
        fixed=_EPS,
    ),
    _torch("nn.utils.clip_grad_norm_", _CLIP, {"norm_type": 2.0}, until="1.9", fixed=_EPS),
    _torch(
        "optim.lr_scheduler.LinearLR",
        _SCHEDULERS,
        {"start_factor": 1 / 3, "end_factor": 1.0, "total_iters": 5},
        since="1.10",
    ),
    _torch(
        "optim.lr_scheduler.PolynomialLR",
        _SCHEDULERS,
        {"total_iters": 5, "power": 1.0},
        since="1.13",
    ),
    _torch(
        "optim.lr_scheduler.CosineAnnealingLR",
        _SCHEDULERS,
        {"eta_min": 0},
        note="climbs again after T_max",
    ),
    _torch("optim.lr_scheduler.StepLR", _SCHEDULERS, {"gamma": 0.1}),
    _torch(
        "optim.lr_scheduler.OneCycleLR",
        _SCHEDULERS,
        {
            "pct_start": 0.3,
            "anneal_strategy": "cos",
            "div_factor": 25.0,
            "final_div_factor": 10000.0,
            "three_phase": False,
        },
        since="1.8",
        note="reaches its end at total_steps - 1",
    ),
    _torch(
        "optim.swa_utils.get_ema_multi_avg_fn", "optim/swa_utils.py", {"decay": 0.999}, since="2.1"
    ),
    _torch("nn.LayerNorm", "nn/modules/normalization.py", {"eps": 1e-5}),
    _torch("nn.GELU", "nn/modules/activation.py", {"approximate": "none"}, since="1.12"),
    _torch("nn.Embedding", "nn/modules/sparse.py", {"padding_idx": None}),
    _torch(
        "nn.CrossEntropyLoss",
        "nn/modules/loss.py",
        {"ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0},
        since="1.10",
    ),
)
