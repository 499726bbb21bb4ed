"""Calls whose positional arguments have another order in Keras 3; a test compares both releases."""

from __future__ import annotations

from collections.abc import Mapping

_ADAPTIVE = ("learning_rate", "rho", "epsilon", "name")
_LOSS = ("from_logits", "label_smoothing", "reduction", "name")
_SPARSE_METRIC = ("name", "dtype", "from_logits", "axis")

ORDERS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "keras.Input": (2, ("shape", "batch_size", "name", "dtype", "sparse", "tensor", "ragged")),
    "keras.Sequential": (1, ("layers", "name")),
    "keras.Model": (2, ("inputs", "outputs", "name")),
    "keras.layers.Embedding": (
        4,
        ("input_dim", "output_dim", "embeddings_initializer", "embeddings_regularizer",
         "activity_regularizer", "embeddings_constraint", "mask_zero", "input_length"),
    ),
    "keras.losses.Loss": (0, ("reduction", "name")),
    "keras.losses.BinaryCrossentropy": (2, _LOSS),
    "keras.losses.CategoricalCrossentropy": (2, _LOSS),
    "keras.losses.SparseCategoricalCrossentropy": (1, ("from_logits", "reduction", "name")),
    "keras.metrics.Metric": (0, ("name", "dtype")),
    "keras.metrics.SparseCategoricalCrossentropy": (3, _SPARSE_METRIC),
    "keras.mixed_precision.Policy": (1, ("name", "loss_scale")),
    "keras.mixed_precision.LossScaleOptimizer": (
        1, ("inner_optimizer", "dynamic", "initial_scale", "dynamic_growth_steps"),
    ),
    "keras.mixed_precision.experimental.LossScaleOptimizer": (1, ("optimizer", "loss_scale")),
    "keras.optimizers.Adadelta": (3, _ADAPTIVE),
    "keras.optimizers.Adagrad": (
        3, ("learning_rate", "initial_accumulator_value", "epsilon", "name")
    ),
    "keras.optimizers.Adam": (
        5, ("learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad", "name")
    ),
    "keras.optimizers.Adamax": (4, ("learning_rate", "beta_1", "beta_2", "epsilon", "name")),
    "keras.optimizers.Nadam": (4, ("learning_rate", "beta_1", "beta_2", "epsilon", "name")),
    "keras.optimizers.RMSprop": (
        5, ("learning_rate", "rho", "momentum", "epsilon", "centered", "name")
    ),
    "keras.optimizers.SGD": (3, ("learning_rate", "momentum", "nesterov", "name")),
}  # fmt: skip
"""Canonical name to the first place that is another parameter in Keras 3, and the old order."""
SAME = {
    "keras.optimizers.LossScaleOptimizer": "keras.mixed_precision.LossScaleOptimizer",
    "keras.mixed_precision.experimental.Policy": "keras.mixed_precision.Policy",
    "keras.layers.Input": "keras.Input",
    "keras.models.Sequential": "keras.Sequential",
    "keras.models.Model": "keras.Model",
}
"""Other names of the same."""
BASES = ("keras.losses.Loss", "keras.metrics.Metric", "keras.Model", "keras.Sequential")
"""Classes whose constructor the program's own classes call by `super().__init__(...)`."""
COMPILE = (2, ("optimizer", "loss", "metrics", "loss_weights", "weighted_metrics"))
"""`compile` of a model."""
LOAD_WEIGHTS = (1, ("filepath", "by_name", "skip_mismatch"))
"""`load_weights` of a model."""
NEWER = {
    "keras.mixed_precision.LossScaleOptimizer": (float, int),
    "keras.losses.BinaryCrossentropy": (int,),
    "keras.losses.CategoricalCrossentropy": (int,),
    "keras.losses.SparseCategoricalCrossentropy": (int, type(None)),
}
"""Classes whose order in the last releases of Keras 2 was that of Keras 3: the first value in the
first place that differs then has one of these types."""
