"""Library parameters for the fields of a recipe: one table per library, for reading and writing.

A parameter is an argument, a key of a configuration or a flag, in the spelling of Python: a flag
`--loss-scale-window` is `loss_scale_window`.
"""

from __future__ import annotations

from collections.abc import Mapping

_GRAD_SCALER = {
    "init_scale": "init_scale",
    "growth_factor": "growth_factor",
    "backoff_factor": "backoff_factor",
    "growth_interval": "growth_interval",
}
_PADDLE = {
    "init_loss_scaling": "init_scale",
    "incr_every_n_steps": "growth_interval",
    "decr_every_n_nan_or_inf": "hysteresis",
    "incr_ratio": "growth_factor",
    "decr_ratio": "backoff_factor",
}
_KERAS = {"initial_scale": "init_scale", "dynamic_growth_steps": "growth_interval"}
_LOSS_SCALING: Mapping[str, Mapping[str, str]] = {
    "torch": _GRAD_SCALER,
    "apex": {"min_loss_scale": "min_scale", "max_loss_scale": "max_scale"},
    "apex.fp16_utils": {
        "init_scale": "init_scale",
        "scale_window": "growth_interval",
        "scale_factor": "growth_factor",
    },
    "deepspeed": {
        "loss_scale_window": "growth_interval",
        "hysteresis": "hysteresis",
        "min_loss_scale": "min_scale",
    },
    "megatron-core": {
        "initial_loss_scale": "init_scale",
        "loss_scale_window": "growth_interval",
        "hysteresis": "hysteresis",
        "min_loss_scale": "min_scale",
    },
    "nemo": {
        "native_amp_init_scale": "init_scale",
        "native_amp_growth_interval": "growth_interval",
        "hysteresis": "hysteresis",
    },
    "fairseq": {"fp16_init_scale": "init_scale", "fp16_scale_window": "growth_interval"},
    "paddle": _PADDLE,
    "ernie": _PADDLE,
    "models-bert": _PADDLE,
    "keras": _KERAS,
    "tf_keras": _KERAS,
    "tensorflow": {
        **_KERAS,
        "initial_loss_scale": "init_scale",
        "init_loss_scale": "init_scale",
        "increment_period": "growth_interval",
        "incr_every_n_steps": "growth_interval",
        "decr_every_n_nan_or_inf": "hysteresis",
        "multiplier": "growth_factor",
        "incr_ratio": "growth_factor",
        "decr_ratio": "backoff_factor",
        "loss_scale_value": "scale",
        "loss_scale": "scale",
    },
    "flax": {
        "scale": "init_scale",
        "growth_interval": "growth_interval",
        "growth_factor": "growth_factor",
        "backoff_factor": "backoff_factor",
        "minimum_scale": "min_scale",
    },
}
_TORCH = {
    "lr": "learning_rate",
    "eps": "eps",
    "momentum": "momentum",
    "weight_decay": "weight_decay",
}
_TF = {
    "learning_rate": "learning_rate",
    "epsilon": "eps",
    "momentum": "momentum",
    "weight_decay": "weight_decay",
    "nesterov": "nesterov",
}
_OPTIMIZER: Mapping[str, Mapping[str, str]] = {
    "torch": {**_TORCH, "betas": "betas", "nesterov": "nesterov", "beta2_decay": "beta2_decay"},
    "keras": _TF,
    "tf_keras": _TF,
    "tensorflow": {**_TF, "use_nesterov": "nesterov"},
    "paddle": {
        "learning_rate": "learning_rate",
        "epsilon": "eps",
        "momentum": "momentum",
        "weight_decay": "weight_decay",
        "lamb_weight_decay": "weight_decay",
        "use_nesterov": "nesterov",
        "always_adapt": "always_adapt",
    },
}
LIBRARIES = tuple(dict.fromkeys((*_LOSS_SCALING, *_OPTIMIZER)))
_SECTIONS = {"loss_scaling": _LOSS_SCALING, "optimizer": _OPTIMIZER}


def scaling_words(library: str) -> dict[str, str]:
    """Return parameter to recipe field for a library's loss scaling; empty for none."""
    return _words("loss_scaling", library)


def optimizer_words(library: str) -> dict[str, str]:
    """Return parameter to recipe field for a library's optimizers; empty for none."""
    return _words("optimizer", library)


def _words(section: str, library: str) -> dict[str, str]:
    return {
        parameter: f"{section}.{field}"
        for parameter, field in _SECTIONS[section].get(library, {}).items()
    }
