"""What optimizers of Keras 2 could define and use, and what Keras 3 does with it."""

from __future__ import annotations

OLD_METHODS = (
    "_resource_apply_dense",
    "_resource_apply_sparse",
    "_create_slots",
    "_prepare_local",
    "get_updates",
)
"""What makes a class an optimizer for Keras 2; Keras 3 calls none of these methods."""

PLAIN = (
    "keras.optimizers.Optimizer",
    "keras.optimizers.legacy.Optimizer",
    "keras.optimizer_v2.optimizer_v2.OptimizerV2",
    "tensorflow.python.keras.optimizer_v2.optimizer_v2.OptimizerV2",
)
"""The base class without an update, under its names of Keras 2."""

WITH_UPDATE = ("keras.optimizers.Adam",)
"""The base classes whose update in Keras 3 is that of Keras 2, also with sparse gradients.

Not SGD: its momentum in Keras 2 did not decay in rows without a gradient.
"""

OVERRIDDEN = (
    "__init__",
    "_create_slots",
    "_prepare_local",
    "_resource_apply_dense",
    "_resource_apply_sparse",
    "_resource_apply_sparse_duplicate_indices",
    "_resource_scatter_add",
    "_resource_scatter_update",
    "apply_gradients",
    "from_config",
    "get_config",
)
"""The methods of Keras 2 that a class may override; they are called as before."""

NOT_CALLED = ("_apply_dense", "_apply_sparse", "_finish", "set_weights")
"""Methods that Keras 2 did not call either: of optimizers of TensorFlow 1, and for users."""

PROVIDED = (
    *OVERRIDDEN,
    "__class__",
    "_decayed_lr",
    "_fallback_apply_state",
    "_get_hyper",
    "_initial_decay",
    "_serialize_hyperparameter",
    "_set_hyper",
    "_use_locking",
    "add_slot",
    "clipnorm",
    "clipvalue",
    "get_slot",
    "global_clipnorm",
    "iterations",
    "name",
)
"""What a class may use of its base."""

HOOKS = (
    "_aggregate_gradients",
    "_assert_valid_dtypes",
    "_call_if_callable",
    "_clip_gradients",
    "_compute_gradients",
    "_create_all_weights",
    "_create_hypers",
    "_distributed_apply",
    "_get_gradients",
    "_prepare",
    "_transform_gradients",
    "_transform_loss",
    "_transform_unaggregated_gradients",
    "_valid_dtypes",
    "add_weight",
    "get_gradients",
    "get_updates",
    "get_weights",
    "minimize",
    "weights",
)
"""Methods of Keras 2 that nothing calls any more."""

TAKEN = (
    "_all_reduce_sum_gradients", "_apply_weight_decay", "_backend_apply_gradients",
    "_backend_increment_gradient_accumulators", "_backend_reset_gradient_accumulators",
    "_backend_update_step", "_check_super_called", "_check_variables_are_known", "_clip_by_norm",
    "_clip_gradients", "_distributed_tf_update_step", "_distribution_strategy",
    "_filter_empty_gradients", "_get_current_learning_rate", "_get_variable_index", "_iterations",
    "_learning_rate", "_lock", "_overwrite_model_variables_with_average_value",
    "_overwrite_variable_with_gradient", "_overwrite_variables_directly_with_gradients",
    "_track_variable", "_tracker", "_trainable_variables", "_trainable_variables_indices",
    "_untrack_variable", "_update_model_variables_moving_average", "_use_weight_decay",
    "_var_key", "_variables", "add_optimizer_variables", "add_variable",
    "add_variable_from_reference", "apply", "assign", "assign_add", "assign_sub", "build", "built",
    "ema_momentum", "ema_overwrite_frequency",
    "finalize_variable_values", "gradient_accumulation_steps", "iterations", "load_own_variables",
    "loss_scale_factor", "save_own_variables", "scale_loss", "stateless_apply", "update_step",
    "use_ema", "variables",
)  # fmt: skip
"""Names that an optimizer of Keras 3 has for itself: a class that defines one means another."""

ADAM_COEFFICIENTS = (
    "lr", "epsilon", "beta_1_t", "beta_1_power", "one_minus_beta_1_t", "beta_2_t", "beta_2_power",
    "one_minus_beta_2_t",
)  # fmt: skip
"""What Adam of Keras 2 kept in `apply_state`."""

ADAM_ARGUMENTS = ("learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad", "name")
"""The arguments of Adam in Keras 2; in Keras 3 `weight_decay` is in the place of `name`."""

MOVED_MODULES = {
    "tensorflow.python.training.training_ops": (
        "tensorflow.python.training",
        "from tensorflow.python.ops import gen_training_ops as {name}",
    ),
}
"""Private modules of TensorFlow to where they were imported from, and the import of today."""

MOVED_NAMES = {
    "tensorflow.python.framework.ops.Tensor": "tf.Tensor",
    "tensorflow.python.framework.ops.convert_to_tensor_v2": "tf.convert_to_tensor",
    "tensorflow.python.framework.ops.convert_to_tensor_v2_with_dispatch": "tf.convert_to_tensor",
    "tensorflow.python.ops.control_flow_ops.cond": "tf.compat.v1.cond",
    "tensorflow.python.framework.ops.IndexedSlices": "tf.IndexedSlices",
}
"""Private names of TensorFlow that moved, to public ones."""

PRIVATE_NAMES = {
    "tensorflow.python.keras.backend_config": ("epsilon",),
    "tensorflow.python.framework.ops": (
        "convert_to_tensor", "control_dependencies", "name_scope",
    ),
    "tensorflow.python.ops.array_ops": (
        "identity", "where", "where_v2", "zeros_like", "ones_like", "gather", "shape",
    ),
    "tensorflow.python.ops.math_ops": (
        "cast", "pow", "sqrt", "square", "abs", "sign", "maximum", "minimum", "reduce_sum",
        "reduce_mean", "greater", "less", "not_equal", "logical_and", "add", "multiply",
    ),
    "tensorflow.python.ops.state_ops": ("assign", "assign_add", "assign_sub"),
    "tensorflow.python.ops.control_flow_ops": ("group",),
    "tensorflow.python.ops.linalg_ops": ("norm",),
    "tensorflow.python.ops.clip_ops": ("clip_by_value", "clip_by_norm", "clip_by_global_norm"),
    "tensorflow.python.ops.resource_variable_ops": ("resource_scatter_add",),
    "tensorflow.python.ops.gen_training_ops": (
        "resource_apply_momentum", "resource_apply_gradient_descent", "resource_apply_adam",
        "resource_apply_keras_momentum", "resource_apply_rms_prop",
        "resource_sparse_apply_momentum",
        "resource_sparse_apply_keras_momentum", "resource_apply_adagrad", "resource_apply_adadelta",
    ),
}  # fmt: skip
"""Private module to the names in it that are there today with the same meaning."""
