"""Signatures of Keras, by its generation: `tf.keras` up to TensorFlow 2.15 is Keras 2.

Read in Keras 2.2.4 and 2.3.1, 3.0.5 and 3.15.1, in the Keras of TensorFlow 1.15.0, 2.3.4 (mixed
precision), 2.5.3, 2.10.1 and 2.15.1, and in tf_keras 2.15.1 to 2.21.0. What they share keeps its
place; the order of `LossScaleOptimizer` does not, nor that of the optimizers of Keras before 2.4,
which calls the `lr` of then `learning_rate` here.
"""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import Signature

_CLIPS = "clipnorm clipvalue global_clipnorm use_ema ema_momentum ema_overwrite_frequency"
_KEYWORDS = f"{_CLIPS} loss_scale_factor gradient_accumulation_steps jit_compile"
_OPTIMIZERS = {
    "Adam": "learning_rate beta_1 beta_2 epsilon amsgrad",
    "AdamW": "learning_rate weight_decay beta_1 beta_2 epsilon amsgrad",
    "SGD": "learning_rate momentum nesterov",
    "RMSprop": "learning_rate rho momentum epsilon centered",
    "Adagrad": "learning_rate initial_accumulator_value epsilon",
    "Adadelta": "learning_rate rho epsilon",
    "Adamax": "learning_rate beta_1 beta_2 epsilon",
    "Nadam": "learning_rate beta_1 beta_2 epsilon",
    "Ftrl": "learning_rate learning_rate_power initial_accumulator_value "
    "l1_regularization_strength l2_regularization_strength",
    "Lamb": "learning_rate beta_1 beta_2 epsilon weight_decay",
    "Lion": "learning_rate beta_1 beta_2 weight_decay",
    "Adafactor": "learning_rate beta_2_decay epsilon_1 epsilon_2 clip_threshold",
}
_SCHEDULES = {
    "ExponentialDecay": "initial_learning_rate decay_steps decay_rate staircase name",
    "InverseTimeDecay": "initial_learning_rate decay_steps decay_rate staircase name",
    "PiecewiseConstantDecay": "boundaries values name",
    "PolynomialDecay": "initial_learning_rate decay_steps end_learning_rate power cycle name",
    "CosineDecay": "initial_learning_rate decay_steps alpha name warmup_target warmup_steps",
    "CosineDecayRestarts": "initial_learning_rate first_decay_steps t_mul m_mul alpha name",
}
_ROOTS = ("keras", "tensorflow.keras", "tensorflow.compat.v1.keras", "tf_keras")
_KINDS = ("", "legacy.", "experimental.")
_ADAM_KINDS = ("adam.", "adam_v2.")
_SCALED_2 = "inner_optimizer dynamic initial_scale dynamic_growth_steps"
_SCALED_3 = "inner_optimizer initial_scale dynamic_growth_steps name"

_SCALERS: dict[str, Signature] = {
    "keras.mixed_precision.LossScaleOptimizer": (("", "3", _SCALED_2), ("3", "", _SCALED_3)),
    "keras.optimizers.LossScaleOptimizer": _SCALED_3,
    "tensorflow.keras.mixed_precision.LossScaleOptimizer": (
        ("", "2.16", _SCALED_2),
        ("2.16", "", _SCALED_3),
    ),
    "tensorflow.keras.optimizers.LossScaleOptimizer": _SCALED_3,
    "tf_keras.mixed_precision.LossScaleOptimizer": _SCALED_2,
}
_EXPERIMENTAL = {
    "LossScaleOptimizer": "optimizer loss_scale",
    "Policy": "name loss_scale",
    "set_policy": "policy",
}
_SHARED = {
    "mixed_precision.Policy": "name",
    "mixed_precision.set_global_policy": "policy",
    "mixed_precision.set_dtype_policy": "policy",
    "mixed_precision.DTypePolicy": "name",
    "DTypePolicy": "name",
    "config.set_dtype_policy": "policy",
    "backend.set_floatx": "value",
    "utils.set_random_seed": "seed",
    "layers.LayerNormalization": "axis epsilon center scale",
    "layers.BatchNormalization": "axis momentum epsilon center scale",
    "layers.Dropout": "rate noise_shape seed",
    "Model.compile": "optimizer loss * metrics jit_compile auto_scale_loss steps_per_execution",
    "Model.fit": "x y batch_size epochs verbose callbacks validation_split validation_data",
    "Sequential.compile": "optimizer loss",
    "Sequential.fit": "x y batch_size epochs verbose callbacks validation_split validation_data",
}


def _whole(words: str) -> str:
    decay = "" if "weight_decay" in words else "weight_decay "
    return f"{words} * {decay}{_KEYWORDS}"


_PLACES = {
    f"optimizers.{kind}{name}": words
    for name, words in _OPTIMIZERS.items()
    for kind in (*_KINDS, *(_ADAM_KINDS if name == "Adam" else ()))
}
_OLD_OPTIMIZERS: dict[str, Signature] = {
    f"keras.optimizers.{name}": (
        ("", "2.3", before),
        ("2.3", "2.4", between),
        ("2.4", "", _whole(_OPTIMIZERS[name])),
    )
    for name, before, between in (
        (
            "Adam",
            "learning_rate beta_1 beta_2 epsilon decay amsgrad",
            "learning_rate beta_1 beta_2 amsgrad",
        ),
        ("SGD", "learning_rate momentum decay nesterov", "learning_rate momentum nesterov"),
        ("RMSprop", "learning_rate rho epsilon decay", "learning_rate rho"),
        ("Adagrad", "learning_rate epsilon decay", "learning_rate"),
        ("Adadelta", "learning_rate rho epsilon decay", "learning_rate rho"),
        (
            "Adamax",
            "learning_rate beta_1 beta_2 epsilon decay",
            "learning_rate beta_1 beta_2",
        ),
        (
            "Nadam",
            "learning_rate beta_1 beta_2 epsilon schedule_decay",
            "learning_rate beta_1 beta_2",
        ),
    )
}
_TF_KERAS_ADAM: Signature = (
    ("", "2.16", _whole(_OPTIMIZERS["Adam"])),
    ("2.16", "", _whole("learning_rate beta_1 beta_2 epsilon adaptive_epsilon amsgrad")),
)

SIGNATURES: dict[str, Signature] = {
    **{f"{root}.{place}": _whole(words) for root in _ROOTS for place, words in _PLACES.items()},
    **{f"{root}.{place}.apply_gradients": "grads_and_vars" for root in _ROOTS for place in _PLACES},
    **_OLD_OPTIMIZERS,
    "tf_keras.optimizers.Adam": _TF_KERAS_ADAM,
    "tf_keras.optimizers.experimental.Adam": _TF_KERAS_ADAM,
    **{
        f"{root}.optimizers.schedules.{name}": words
        for root in _ROOTS
        for name, words in _SCHEDULES.items()
    },
    **{f"{root}.{name}": words for root in _ROOTS for name, words in _SHARED.items()},
    **{
        f"{root}.mixed_precision.experimental.{name}": words
        for root in _ROOTS
        for name, words in _EXPERIMENTAL.items()
    },
    **_SCALERS,
}
