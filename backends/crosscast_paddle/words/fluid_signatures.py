"""Signatures of Paddle's `fluid` interface (1.x, until 2.4).

Read in paddlepaddle 1.8.5 and, for what is older or newer, in single states of its repository: the
list of its interfaces before 1.6, `decorate` before 1.6 and in 2.x, the dygraph `amp` of 2.x and
GradientMergeOptimizer. That `amp_lists` came with 1.6 is not read but concluded from these states.
Until 1.8 `parameter_list` and `grad_clip` were put in between, so of the optimizers only the
parameters before it have a place.
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import Signature

_DECORATE_NEW = (
    "optimizer amp_lists init_loss_scaling incr_every_n_steps decr_every_n_nan_or_inf incr_ratio "
    "decr_ratio use_dynamic_loss_scaling * use_pure_fp16 use_fp16_guard"
)
_DECORATE: Signature = (
    ("", "1.6", "optimizer init_loss_scaling * use_dynamic_loss_scaling"),
    ("1.6", "", _DECORATE_NEW),
)
_KEYWORDS = "* parameter_list regularization grad_clip name"
_OPTIMIZERS = {
    "Adam": f"learning_rate beta1 beta2 epsilon {_KEYWORDS} lazy_mode",
    "SGD": f"learning_rate {_KEYWORDS}",
    "Momentum": f"learning_rate momentum {_KEYWORDS} use_nesterov",
    "Lamb": f"learning_rate lamb_weight_decay beta1 beta2 epsilon {_KEYWORDS}",
    "RMSProp": f"learning_rate rho epsilon momentum centered {_KEYWORDS}",
    "Adagrad": f"learning_rate epsilon {_KEYWORDS}",
    "Adamax": f"learning_rate beta1 beta2 epsilon {_KEYWORDS}",
    "LarsMomentum": f"learning_rate momentum lars_coeff lars_weight_decay {_KEYWORDS}",
}
_DECAY = "learning_rate decay_steps decay_rate staircase"
_LAYERS = {
    "noam_decay": "d_model warmup_steps learning_rate",
    "exponential_decay": _DECAY,
    "natural_exp_decay": _DECAY,
    "inverse_time_decay": _DECAY,
    "polynomial_decay": "learning_rate decay_steps end_learning_rate power cycle",
    "piecewise_decay": "boundaries values",
    "cosine_decay": "learning_rate step_each_epoch epochs",
    "linear_lr_warmup": "learning_rate warmup_steps start_lr end_lr",
}
_DYGRAPH = {
    "NoamDecay": "d_model warmup_steps begin step dtype learning_rate",
    "PolynomialDecay": "learning_rate decay_steps end_learning_rate power cycle",
    "CosineDecay": "learning_rate step_each_epoch epochs",
    "PiecewiseDecay": "boundaries values begin",
    "LinearLrWarmup": "learning_rate warmup_steps start_lr end_lr",
    "ExponentialDecay": _DECAY,
    "AmpScaler": "enable init_loss_scaling incr_ratio decr_ratio incr_every_n_steps "
    "decr_every_n_nan_or_inf use_dynamic_loss_scaling",
    "amp_guard": "enable custom_white_list custom_black_list",
}
_CLIPS = {
    "ClipGradByGlobalNorm": "clip_norm group_name",
    "ClipGradByNorm": "clip_norm",
    "ClipGradByValue": "max min",
    "GradientClipByGlobalNorm": "clip_norm group_name",
    "GradientClipByNorm": "clip_norm",
    "GradientClipByValue": "max min",
    "set_gradient_clip": "clip param_list program",
}

SIGNATURES: dict[str, Signature] = {
    "paddle.fluid.contrib.mixed_precision.decorate": _DECORATE,
    "paddle.fluid.contrib.mixed_precision.AutoMixedPrecisionLists": (
        "custom_white_list custom_black_list custom_black_varnames"
    ),
    **{
        f"paddle.fluid.optimizer.{name}{end}": words
        for name, words in _OPTIMIZERS.items()
        for end in ("", "Optimizer")
    },
    **{f"paddle.fluid.layers.{name}": words for name, words in _LAYERS.items()},
    **{
        f"paddle.fluid.layers.learning_rate_scheduler.{name}": words
        for name, words in _LAYERS.items()
    },
    **{f"paddle.fluid.dygraph.{name}": words for name, words in _DYGRAPH.items()},
    **{f"paddle.fluid.clip.{name}": words for name, words in _CLIPS.items()},
    "paddle.fluid.optimizer.GradientMergeOptimizer": "inner_optimizer k_steps avg",
    "paddle.fluid.optimizer.RecomputeOptimizer": "optimizer",
    "paddle.fluid.optimizer.ExponentialMovingAverage": "decay thres_steps name",
    "paddle.fluid.regularizer.L2Decay": "regularization_coeff",
    "paddle.fluid.regularizer.L2DecayRegularizer": "regularization_coeff",
}
