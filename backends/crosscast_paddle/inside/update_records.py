"""What records of updates hold, for every kind of graph of Paddle from 1.8 on; Python 3.7."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import paddle

from crosscast_parity.inside.updates import Records

ROUNDING = 2.0**-20
"""How far a perturbed run is moved, in root mean squares of each tensor."""
CLIPS = {
    "GradientClipByGlobalNorm": ("global_norm", "clip_norm"),
    "GradientClipByNorm": ("per_param_norm", "clip_norm"),
    "GradientClipByValue": ("value", "max"),
    "ClipGradByGlobalNorm": ("global_norm", "clip_norm"),
    "ClipGradByNorm": ("per_param_norm", "clip_norm"),
    "ClipGradByValue": ("value", "max"),
}
SETTINGS = {
    "_momentum": "momentum",
    "_use_nesterov": "nesterov",
    "_epsilon": "eps",
    "_rho": "rho",
}


def pattern(count: int) -> Any:
    """Return the first numbers of the fixed vector."""
    return np.cos(np.arange(1, count + 1, dtype=np.float64) * 1.618033988749895)


def summary(values: Any) -> list[float]:
    """Return number of elements, norm and projection."""
    flat = np.asarray(values, np.float64).reshape(-1)
    with np.errstate(all="ignore"):
        norm = float(np.sqrt(np.sum(flat * flat)))
        return [len(flat), norm, float(np.sum(flat * pattern(len(flat))))]


def moved(values: Any) -> Any:
    """Return values changed by what rounding changes."""
    flat = np.asarray(values, np.float64).reshape(-1)
    size = float(np.sqrt(np.mean(flat * flat))) if len(flat) else 0.0
    return (flat + ROUNDING * size * pattern(len(flat))).astype(np.float32).reshape(values.shape)


def class_of(optimizer: Any) -> str:
    """Return the name of an optimizer's class, as Paddle 2 and 3 have it."""
    name = type(optimizer).__name__
    return name[: -len("Optimizer")] if name.endswith("Optimizer") else name


def clips_of(optimizer: Any) -> list[dict[str, Any]]:
    """Return the clippings of an optimizer; how large the gradients were is not known."""
    clipping = getattr(optimizer, "_grad_clip", None)
    if type(clipping).__name__ not in CLIPS:
        return []
    kind, name = CLIPS[type(clipping).__name__]
    return [{"kind": kind, "limit": float(getattr(clipping, name)), "size": math.nan}]


def settings_of(optimizer: Any, rate: float, tensors: int) -> list[dict[str, Any]]:
    """Return the numbers of an optimizer: one group of all tensors."""
    settings: dict[str, Any] = {"lr": rate, "tensors": tensors}
    for name, setting in SETTINGS.items():
        value = getattr(optimizer, name, None)
        if isinstance(value, (bool, int, float)):
            settings[setting] = value if isinstance(value, bool) else float(value)
    if hasattr(optimizer, "epsilon_as_said"):
        settings["eps"] = float(optimizer.epsilon_as_said)
    betas = [getattr(optimizer, name, None) for name in ("_beta1", "_beta2")]
    if all(isinstance(beta, float) for beta in betas):
        settings["betas"] = betas
    decay = getattr(optimizer, "regularization", None)
    decay = getattr(decay, "_regularization_coeff", getattr(decay, "_coeff", None))
    if isinstance(decay, (int, float)):
        settings["weight_decay"] = float(decay)
    return [settings]


def tell(records: Records) -> None:
    """Record what this runs with."""
    records.write(
        {
            "kind": "framework",
            "name": "paddle",
            "version": str(paddle.__version__),
            "device": "gpu" if on_gpu() else "cpu",
            "forced": not on_gpu(),
        }
    )


def on_gpu() -> bool:
    """Whether programs run on a GPU."""
    if hasattr(paddle, "get_device"):
        return "gpu" in str(paddle.get_device())
    return False
