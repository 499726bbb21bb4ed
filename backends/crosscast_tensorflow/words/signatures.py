"""Signatures of TensorFlow outside Keras.

Read in tensorflow 2.5.3 and 2.21.0 (`compat.v1`), 2.3.4 (loss scales) and 1.15.0 (all, `contrib`
too), and in tensorflow-addons 0.6.0 to 0.23.0.
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import Signature

_DECAY = "learning_rate global_step decay_steps decay_rate staircase name"
_DYNAMIC_SCALE = "initial_loss_scale increment_period multiplier"
_TRAIN: dict[str, str] = {
    "AdamOptimizer": "learning_rate beta1 beta2 epsilon use_locking name",
    "GradientDescentOptimizer": "learning_rate use_locking name",
    "MomentumOptimizer": "learning_rate momentum use_locking name use_nesterov",
    "RMSPropOptimizer": "learning_rate decay momentum epsilon use_locking centered name",
    "AdagradOptimizer": "learning_rate initial_accumulator_value use_locking name",
    "AdadeltaOptimizer": "learning_rate rho epsilon use_locking name",
    "FtrlOptimizer": "learning_rate learning_rate_power initial_accumulator_value "
    "l1_regularization_strength l2_regularization_strength use_locking name",
    "ProximalAdagradOptimizer": "learning_rate initial_accumulator_value "
    "l1_regularization_strength l2_regularization_strength use_locking name",
    "SyncReplicasOptimizer": "opt replicas_to_aggregate total_num_replicas",
    "ExponentialMovingAverage": "decay num_updates zero_debias name",
    "exponential_decay": _DECAY,
    "natural_exp_decay": _DECAY,
    "inverse_time_decay": _DECAY,
    "piecewise_constant": "x boundaries values name",
    "piecewise_constant_decay": "x boundaries values name",
    "polynomial_decay": (
        "learning_rate global_step decay_steps end_learning_rate power cycle name"
    ),
    "cosine_decay": "learning_rate global_step decay_steps alpha name",
    "cosine_decay_restarts": ("learning_rate global_step first_decay_steps t_mul m_mul alpha name"),
    "linear_cosine_decay": "learning_rate global_step decay_steps num_periods alpha beta name",
    "noisy_linear_cosine_decay": "learning_rate global_step decay_steps initial_variance "
    "variance_decay num_periods alpha beta name",
    "experimental.enable_mixed_precision_graph_rewrite": "opt loss_scale",
    "experimental.MixedPrecisionLossScaleOptimizer": "opt loss_scale",
    "experimental.DynamicLossScale": _DYNAMIC_SCALE,
    "experimental.FixedLossScale": "loss_scale_value",
}
_METHODS = {
    "minimize": "loss global_step var_list gate_gradients aggregation_method",
    "compute_gradients": "loss var_list gate_gradients aggregation_method",
    "apply_gradients": "grads_and_vars global_step name",
}
_OPTIMIZERS = tuple(n for n in _TRAIN if n.endswith("Optimizer") and "." not in n)
_PLACES = ("tensorflow.train", "tensorflow.compat.v1.train")

_PLAIN: dict[str, str] = {
    "clip_by_global_norm": "t_list clip_norm use_norm name",
    "clip_by_norm": "t clip_norm axes name",
    "clip_by_value": "t clip_value_min clip_value_max name",
    "clip_by_average_norm": "t clip_norm name",
    "gradients": "ys xs grad_ys name",
    "GradientTape": "persistent watch_accessed_variables",
    "GradientTape.gradient": "target sources output_gradients unconnected_gradients",
    "config.optimizer.set_experimental_options": "options",
    "config.optimizer.set_jit": "enabled",
    "random.set_seed": "seed",
    "set_random_seed": "seed",
    "random.set_random_seed": "seed",
}

_V1_MIXED: dict[str, Signature] = {
    f"tensorflow.{place}mixed_precision.{name}": words
    for place in ("compat.v1.", "")
    for name, words in (
        ("enable_mixed_precision_graph_rewrite", "opt loss_scale"),
        ("MixedPrecisionLossScaleOptimizer", "opt loss_scale"),
        ("DynamicLossScale", _DYNAMIC_SCALE),
        ("FixedLossScale", "loss_scale_value"),
        ("experimental.DynamicLossScale", _DYNAMIC_SCALE),
        ("experimental.FixedLossScale", "loss_scale_value"),
    )
}

_CONTRIB: dict[str, Signature] = {
    "tensorflow.contrib.mixed_precision.LossScaleOptimizer": "opt loss_scale_manager",
    "tensorflow.contrib.mixed_precision.FixedLossScaleManager": "loss_scale",
    "tensorflow.contrib.mixed_precision.ExponentialUpdateLossScaleManager": (
        "init_loss_scale incr_every_n_steps decr_every_n_nan_or_inf incr_ratio decr_ratio"
    ),
    "tensorflow.contrib.opt.AdamWOptimizer": (
        "weight_decay learning_rate beta1 beta2 epsilon use_locking name"
    ),
    "tensorflow.contrib.opt.MomentumWOptimizer": (
        "weight_decay learning_rate momentum use_locking name use_nesterov"
    ),
    "tensorflow.contrib.layers.optimize_loss": "loss global_step learning_rate optimizer "
    "gradient_noise_scale gradient_multipliers clip_gradients learning_rate_decay_fn",
    "tensorflow_addons.optimizers.AdamW": (
        "weight_decay learning_rate beta_1 beta_2 epsilon amsgrad name"
    ),
    "tensorflow_addons.optimizers.SGDW": "weight_decay learning_rate momentum nesterov name",
    "tensorflow_addons.optimizers.LAMB": "learning_rate beta_1 beta_2 epsilon",
    "tensorflow_addons.optimizers.NovoGrad": "learning_rate beta_1 beta_2 epsilon weight_decay",
    "tensorflow_addons.optimizers.RectifiedAdam": (
        "learning_rate beta_1 beta_2 epsilon weight_decay"
    ),
}

SIGNATURES: dict[str, Signature] = {
    **{f"{place}.{name}": words for place in _PLACES for name, words in _TRAIN.items()},
    **{
        f"{place}.{optimizer}.{method}": words
        for place in _PLACES
        for optimizer in _OPTIMIZERS
        for method, words in _METHODS.items()
    },
    **{f"tensorflow.{name}": words for name, words in _PLAIN.items()},
    **{f"tensorflow.compat.v1.{name}": words for name, words in _PLAIN.items()},
    **_V1_MIXED,
    **_CONTRIB,
}
