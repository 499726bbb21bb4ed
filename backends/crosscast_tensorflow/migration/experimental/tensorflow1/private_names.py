"""Private names of TensorFlow 1, under `tensorflow.python`, that TensorFlow 2 no longer has.

Compared module by module in 1.15.5 and 2.21.0; tests/probes/test_tensorflow1_names.py looks every
row up again. What is not listed here is where it was.
"""

from __future__ import annotations

from collections.abc import Mapping

PUBLIC: tuple[tuple[str, str, str], ...] = (
    ("ops.control_flow_ops", "", "Assert case cond switch_case while_loop"),
    ("ops.array_ops", "", "stack unstack"),
    ("ops.random_ops", "", "random_crop"),
    ("ops.standard_ops", "", "is_variable_initialized random_crop stack unstack"),
    ("ops.variables", "", "is_variable_initialized"),
    (
        "ops.variable_scope",
        "",
        "disable_resource_variables enable_resource_variables resource_variables_enabled",
    ),
    (
        "ops.nn",
        "nn",
        "bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_rnn static_state_saving_rnn",
    ),
    ("ops.nn_impl", "nn", "compute_average_loss scale_regularization_loss"),
    (
        "framework.ops",
        "",
        "IndexedSlices Tensor convert_to_tensor_or_indexed_slices disable_tensor_equality "
        "enable_tensor_equality register_tensor_conversion_function",
    ),
    ("framework.graph_util", "graph_util", "convert_variables_to_constants"),
    ("framework.graph_util_impl", "graph_util", "convert_variables_to_constants"),
    ("layers.layers", "layers", "BatchNormalization InputSpec batch_normalization"),
    ("layers.normalization", "layers", "BatchNormalization batch_normalization"),
)
"""Private place, the place in `tf.compat.v1`, and the names that it has under the same name."""

RENAMED: Mapping[str, str] = {
    "layers.normalization.BatchNorm": "layers.BatchNormalization",
    "layers.normalization.batch_norm": "layers.batch_normalization",
    "ops.variables.VariableV1": "Variable",
    "ops.standard_ops.VariableV1": "Variable",
    "util.nest.is_sequence": "nest.is_nested",
}
"""Private name to its name in `tf.compat.v1`."""

_MODULES = """
    data.experimental.ops.distribute_options data.experimental.ops.optimization
    data.experimental.ops.optimization_options data.experimental.ops.sleep
    data.experimental.ops.stats_aggregator data.experimental.ops.stats_ops
    data.experimental.ops.stats_options data.experimental.ops.threading_options
    data.experimental.ops.threadpool distribute.all_reduce distribute.distribution_strategy_context
    distribute.estimator_training eager.execution_callbacks eager.profiler eager.profiler_client
    feature_column.dense_features feature_column.dense_features_v2 framework.composite_tensor_utils
    framework.tensor_like ops.distributions.transformed_distribution
    ops.linalg.linear_operator_algebra ops.losses.loss_reduction ops.rnn_cell_wrapper_impl
    ops.tensor_forest_ops platform.control_imports platform.status_bar profiler.profile_context
    training.distribute training.saving.functional_saver training.tensorboard_logging
    training.tracking util.compat_internal util.deprecation_wrapper util.future_api util.memory
"""
_NAMES = """
    data.ops.dataset_ops: CacheDataset ConcatenateDataset FilterDataset FlatMapDataset
        InterleaveDataset MapDataset Options PaddedBatchDataset ParallelInterleaveDataset
        ParallelMapDataset RangeDataset ShardDataset SkipDataset TakeDataset TensorDataset
        TensorSliceDataset WindowDataset ZipDataset _GeneratorDataset _OptimizeDataset
        _UnbatchDataset _default_padding
    data.ops.iterator_ops: IteratorV2
    eager.backprop: aggregate_indexed_slices_gradients flatten_nested_indexed_slices
    eager.context: VirtualDeviceConfiguration add_function list_devices namescope shared_name
    eager.function: Function defun defun_with_attributes register validate_signature
    eager.graph_only_ops: graph_zeros_like
    eager.tape: could_possibly_record delete_trace record_operation should_record stop_recording
    framework.c_api_util: ScopedTFGraph new_tf_operations tf_operations
    framework.common_shapes: avg_pool_shape call_cpp_shape_fn conv2d_shape
        depthwise_conv2d_native_shape get2d_conv_output_size get_conv_output_size
        has_fully_defined_shape matmul_shape max_pool_shape no_outputs rank scalar_shape
        separable_conv2d_shape unchanged_shape unchanged_shape_with_rank
        unchanged_shape_with_rank_at_least unchanged_shape_with_rank_at_most unknown_shape
    framework.config: get_virtual_device_configuration set_virtual_device_configuration
    framework.error_interpolation: interpolate
    framework.func_graph: WHITELIST_COLLECTIONS check_mutation maybe_captured
    framework.function: function_def_from_tf_function
    framework.op_def_library: OpDefLibrary
    framework.op_def_registry: get_registered_ops register_op_list
    framework.ops: IndexedSlicesValue RegisterShape _TensorLike _default_session_stack
        _eval_using_default_session _override_helper _shape_registry
        convert_n_to_tensor_or_indexed_slices convert_to_tensor_v2 default_session
        enter_eager_name_scope internal_convert_n_to_tensor_or_indexed_slices
        internal_convert_to_tensor_or_indexed_slices register_dense_tensor_like_type
    framework.tensor_shape: matrix scalar vector
    framework.tensor_util: maybe_set_static_shape shape_tensor
    layers.utils: get_reachable_from_inputs object_list_uid static_shape
    ops.array_ops: _SliceHelperVar _check_index _slice_helper
    ops.control_flow_ops: _SetShapeInvariants _UnpackIfSingleton _convert_flows_to_tensorarrays
        case_v2 cond_for_tf_v2 while_loop_v2
    ops.control_flow_state: ZerosLikeOutsideLoop
    ops.custom_gradient: copy_handle_data get_dependent_variables
    ops.functional_ops: partitioned_call
    ops.gradients_util: IsTrainable _IsBackpropagatable
    ops.linalg.linear_operator_util: cholesky_solve_with_broadcast
        matrix_triangular_solve_with_broadcast
    ops.math_ops: _BroadcastShape _OverrideBinaryOperatorHelper _sparse_dense_truediv bessel_i0e
        bessel_i1e bincount_v1
    ops.nn: l2_normalize_v2
    ops.nn_impl: l2_normalize_v2
    ops.nn_ops: _convert_padding _softmax
    ops.parallel_for: batch_jacobian for_loop jacobian
    ops.parsing_ops: _features_to_raw_params parse_single_example_v2_unoptimized
    ops.resource_variable_ops: _to_proto_fn variable_handle_from_shape_and_dtype
    ops.rnn_cell: ASSERT_LIKE_RNNCELL_ERROR_REGEXP
    ops.rnn_cell_impl: ASSERT_LIKE_RNNCELL_ERROR_REGEXP _RNNCellWrapperV1
        _check_rnn_cell_input_dtypes _check_supported_dtypes
    ops.summary_ops_v2: NoopSummaryWriter ResourceSummaryWriter create_db_writer keras_model
    ops.variable_scope: _DEFAULT_USE_RESOURCE default_variable_creator default_variable_creator_v2
        variable
    ops.variables: AbstractVariable AbstractVariableMetaclass RefVariable default_variable_creator
    saved_model.loader_impl: _parse_saved_model
    saved_model.utils_impl: get_assets_dir get_or_create_assets_dir get_or_create_variables_dir
        get_variables_dir get_variables_path
    training.experimental.loss_scale: get_loss_scale_weights
    training.experimental.mixed_precision: disable_mixed_precision_graph_rewrite
        enable_mixed_precision_graph_rewrite
    training.training: do_quantize_training_on_graphdef
    util.nest: _is_mapping_view _same_namedtuples _sorted _yield_flat_up_to
    util.tf_export: estimator_export
"""
OLDER = ("ops.rnn_cell_impl._linear", "ops.rnn_cell_impl._Linear")
"""Private names that 1.15 lacks, too, and that many programs of earlier releases use."""


def _lost() -> list[str]:
    found = [*_MODULES.split(), *OLDER]
    for row in _NAMES.replace("\n        ", " ").strip().splitlines():
        place, _, names = row.strip().partition(": ")
        found += [f"{place}.{name}" for name in names.split()]
    return found


LOST = frozenset(f"python.{name}" for name in _lost())
"""Modules and names without a public counterpart, without `tensorflow.`."""
