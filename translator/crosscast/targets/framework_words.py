"""What frameworks, and optimizers written for them, call the fields of a recipe."""

from __future__ import annotations

from collections.abc import Mapping

TORCH = {
    "lr": "optimizer.learning_rate",
    "betas": "optimizer.betas",
    "eps": "optimizer.eps",
    "momentum": "optimizer.momentum",
    "weight_decay": "optimizer.weight_decay",
    "nesterov": "optimizer.nesterov",
    "beta2_decay": "optimizer.beta2_decay",
    "d": "optimizer.clip_threshold",
    "max_norm": "clipping.max_norm",
    "clip_value": "clipping.max_value",
    "init_scale": "loss_scaling.init_scale",
    "growth_factor": "loss_scaling.growth_factor",
    "backoff_factor": "loss_scaling.backoff_factor",
    "growth_interval": "loss_scaling.growth_interval",
}
_BETAS = {
    "beta1": "optimizer.betas.0",
    "beta2": "optimizer.betas.1",
    "beta_1": "optimizer.betas.0",
    "beta_2": "optimizer.betas.1",
    "b1": "optimizer.betas.0",
    "b2": "optimizer.betas.1",
}
_KERAS = {
    "learning_rate": "optimizer.learning_rate",
    "beta_1": "optimizer.betas.0",
    "beta_2": "optimizer.betas.1",
    "epsilon": "optimizer.eps",
    "momentum": "optimizer.momentum",
    "weight_decay": "optimizer.weight_decay",
    "nesterov": "optimizer.nesterov",
    "initial_scale": "loss_scaling.init_scale",
    "dynamic_growth_steps": "loss_scaling.growth_interval",
}
_PADDLE = {
    "learning_rate": "optimizer.learning_rate",
    "beta1": "optimizer.betas.0",
    "beta2": "optimizer.betas.1",
    "epsilon": "optimizer.eps",
    "momentum": "optimizer.momentum",
    "weight_decay": "optimizer.weight_decay",
    "lamb_weight_decay": "optimizer.weight_decay",
    "use_nesterov": "optimizer.nesterov",
    "always_adapt": "optimizer.always_adapt",
    "init_loss_scaling": "loss_scaling.init_scale",
    "incr_every_n_steps": "loss_scaling.growth_interval",
    "decr_every_n_nan_or_inf": "loss_scaling.hysteresis",
    "incr_ratio": "loss_scaling.growth_factor",
    "decr_ratio": "loss_scaling.backoff_factor",
}
_PADDLE_SCRIPT = {
    **{word: path for word, path in _PADDLE.items() if path.startswith("loss_scaling.")},
    "learning_rate": "optimizer.learning_rate",
    "weight_decay": "optimizer.weight_decay",
    "batch_size": "batch.micro_batch_size",
    "max_seq_len": "data.sequence_length",
    "random_seed": "seed",
}

FRAMEWORKS: Mapping[str, Mapping[str, str]] = {
    "torch": TORCH,
    "torch classes": {
        **TORCH,
        **_BETAS,
        "learning_rate": "optimizer.learning_rate",
        "lr_max": "optimizer.learning_rate",
        "max_lr": "optimizer.learning_rate",
        "epsilon": "optimizer.eps",
        "e": "optimizer.eps",
        "adam_epsilon": "optimizer.eps",
    },
    "timm flags": {
        "lr": "optimizer.learning_rate",
        "momentum": "optimizer.momentum",
        "weight_decay": "optimizer.weight_decay",
        "opt_eps": "optimizer.eps",
    },
    "keras": _KERAS,
    "tf_keras": _KERAS,
    "tensorflow": {
        **_KERAS,
        "beta1": "optimizer.betas.0",
        "beta2": "optimizer.betas.1",
        "use_nesterov": "optimizer.nesterov",
        "initial_loss_scale": "loss_scaling.init_scale",
        "init_loss_scale": "loss_scaling.init_scale",
        "increment_period": "loss_scaling.growth_interval",
        "incr_every_n_steps": "loss_scaling.growth_interval",
        "decr_every_n_nan_or_inf": "loss_scaling.hysteresis",
        "multiplier": "loss_scaling.growth_factor",
        "incr_ratio": "loss_scaling.growth_factor",
        "decr_ratio": "loss_scaling.backoff_factor",
        "loss_scale_value": "loss_scaling.scale",
        "loss_scale": "loss_scaling.scale",
    },
    "paddle": _PADDLE,
    "flax": {
        "scale": "loss_scaling.init_scale",
        "growth_interval": "loss_scaling.growth_interval",
        "growth_factor": "loss_scaling.growth_factor",
        "backoff_factor": "loss_scaling.backoff_factor",
        "minimum_scale": "loss_scaling.min_scale",
    },
    "graph classes": {
        **_BETAS,
        "learning_rate": "optimizer.learning_rate",
        "lr": "optimizer.learning_rate",
        "init_lr": "optimizer.learning_rate",
        "init_value": "optimizer.learning_rate",
        "base_lr": "optimizer.learning_rate",
        "epsilon": "optimizer.eps",
        "eps": "optimizer.eps",
        "momentum": "optimizer.momentum",
        "weight_decay": "optimizer.weight_decay",
        "weight_decay_rate": "optimizer.weight_decay",
        "lamb_weight_decay": "optimizer.weight_decay",
        "nesterov": "optimizer.nesterov",
        "use_nesterov": "optimizer.nesterov",
    },
    "lark": _PADDLE_SCRIPT,
    "ernie": _PADDLE_SCRIPT,
    "models-bert": _PADDLE_SCRIPT,
    "paddle flags": {
        **_PADDLE_SCRIPT,
        "lr": "optimizer.learning_rate",
        "gradient_accumulation_steps": "accumulation.steps",
        "accumulate_steps": "accumulation.steps",
        "max_seq_length": "data.sequence_length",
        "seed": "seed",
    },
}
"""Library to parameter to path in a recipe.

`torch classes` and `graph classes` are the optimizers that programs and small packages define, for
PyTorch, and for TensorFlow, Paddle and JAX.
"""
