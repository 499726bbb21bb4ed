"""Signatures of Flax, Optax and JAX.

Read in optax 0.0.9 to 0.2.8, flax 0.3.6, 0.5.0 and 0.12.8, and jax 0.10.2.
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import Signature

_ADAM = "learning_rate b1 b2 eps eps_root"
_DYNAMIC = "growth_factor backoff_factor growth_interval fin_steps scale minimum_scale"
_OPTAX: dict[str, Signature] = {
    "MultiSteps": "opt every_k_schedule use_grad_mean should_skip_update_fn",
    "adam": f"{_ADAM} * mu_dtype nesterov",
    "adamw": (
        ("", "0.0.91", f"{_ADAM} weight_decay mask"),
        ("0.0.91", "", f"{_ADAM} mu_dtype weight_decay mask * nesterov"),
    ),
    "sgd": "learning_rate momentum nesterov accumulator_dtype",
    "lamb": f"{_ADAM} weight_decay mask",
    "lars": "learning_rate weight_decay * momentum nesterov",
    "lion": "learning_rate b1 b2 mu_dtype weight_decay mask",
    "rmsprop": "learning_rate decay eps",
    "adagrad": "learning_rate initial_accumulator_value eps",
    "adafactor": "learning_rate",
    "radam": _ADAM,
    "scale_by_adam": "b1 b2 eps eps_root",
    "scale": "step_size",
    "scale_by_schedule": "step_size_fn",
    "scale_by_learning_rate": "learning_rate",
    "add_decayed_weights": "weight_decay mask",
    "clip": "max_delta",
    "clip_by_global_norm": "max_norm",
    "clip_by_block_rms": "threshold",
    "adaptive_grad_clip": "clipping eps",
    "apply_if_finite": "inner max_consecutive_errors",
    "apply_every": "k",
    "ema": "decay debias",
    "constant_schedule": "value",
    "linear_schedule": "init_value end_value transition_steps transition_begin",
    "polynomial_schedule": "init_value end_value power transition_steps transition_begin",
    "cosine_decay_schedule": "init_value decay_steps alpha exponent",
    "exponential_decay": "init_value transition_steps decay_rate transition_begin staircase",
    "piecewise_constant_schedule": "init_value boundaries_and_scales",
    "warmup_cosine_decay_schedule": (
        "init_value peak_value warmup_steps decay_steps end_value exponent"
    ),
    "warmup_constant_schedule": "init_value peak_value warmup_steps",
    "warmup_exponential_decay_schedule": (
        "init_value peak_value warmup_steps transition_steps decay_rate"
    ),
    "cosine_onecycle_schedule": "transition_steps peak_value pct_start",
    "linear_onecycle_schedule": "transition_steps peak_value pct_start pct_final",
    "softmax_cross_entropy": "logits labels axis where",
    "softmax_cross_entropy_with_integer_labels": "logits labels axis where",
    "sigmoid_binary_cross_entropy": "logits labels",
    "squared_error": "predictions targets",
    "smooth_labels": "labels alpha",
    "join_schedules": "schedules boundaries",
}

_LOSSES = (
    *("softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels"),
    *("sigmoid_binary_cross_entropy", "squared_error", "smooth_labels"),
)
_EXAMPLES = {
    "sgd": "learning_rate",
    "momentum": "learning_rate mass",
    "nesterov": "learning_rate mass",
    "adam": "learning_rate b1 b2 eps",
    "adagrad": "learning_rate momentum",
    "rmsprop": "learning_rate gamma eps",
    "rmsprop_momentum": "learning_rate gamma eps momentum",
}
"""The optimizers that JAX brings for examples call the rate `step_size`, and give it first."""

SIGNATURES: dict[str, Signature] = {
    **{f"optax.{name}": words for name, words in _OPTAX.items()},
    **{f"optax.losses.{name}": _OPTAX[name] for name in _LOSSES},
    "flax.training.dynamic_scale.DynamicScale": _DYNAMIC,
    "flax.optim.DynamicScale": _DYNAMIC,
    "flax.training.dynamic_scale.DynamicScale.value_and_grad": "fun argnums has_aux axis_name",
    "flax.optim.DynamicScale.value_and_grad": "fun argnums has_aux axis_name",
    "jax.value_and_grad": "fun argnums has_aux",
    "jax.grad": "fun argnums has_aux",
    "jax.random.PRNGKey": "seed",
    "jax.random.key": "seed",
    "flax.nnx.Rngs": "default",
    "flax.nnx.Optimizer": "model tx wrt",
    "jmp.DynamicLossScale": "loss_scale counter period factor min_loss_scale",
    "jax.numpy.take_along_axis": "arr indices axis",
    **{
        f"{package}.{name}": words
        for package in ("jax.example_libraries.optimizers", "jax.experimental.optimizers")
        for name, words in _EXAMPLES.items()
    },
}
