"""The modules of tf_slim and their names, read in 1.1.0.

tests/probes/test_tensorflow1_names.py imports each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

ROOT = "tf_slim"
_NAMES = """
    .: GDN OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES RevBlock VariableDeviceChooser
        adaptive_clipping_fn add_arg_scope add_model_variable apply_regularization arg_scope
        arg_scope_func_key arg_scope_lib arg_scoped_arguments assert_global_step
        assert_or_get_global_step assign_from_checkpoint assign_from_checkpoint_fn
        assign_from_values assign_from_values_fn avg_pool2d avg_pool3d batch_norm bias_add
        bucketization_op bucketize conv1d conv2d conv2d_in_plane conv2d_transpose conv3d
        conv3d_transpose convolution convolution1d convolution2d convolution2d_in_plane
        convolution2d_transpose convolution3d convolution3d_transpose create_global_step
        current_arg_scope data data_decoder data_provider dataset dataset_data_provider
        dense_to_sparse dropout evaluation filter_variables flatten fully_connected gdn
        get_global_step get_local_variables get_model_variables get_or_create_global_step
        get_trainable_variables get_unique_variable get_variable_full_name get_variables
        get_variables_by_name get_variables_by_suffix get_variables_to_restore global_variable
        group_norm has_arg_scope images_to_sequence initializers instance_norm l1_l2_regularizer
        l1_regularizer l2_regularizer layer_norm layers learning legacy_fully_connected
        local_variable losses max_pool2d max_pool3d maxout metrics model_analyzer model_variable
        nets normalization one_hot_encoding optimize_loss optimizers parallel_reader pool
        prefetch_queue queues recompute_grad regularizers repeat rev_block rev_block_lib
        scale_gradient separable_conv2d separable_convolution2d sequence_to_images softmax
        spatial_softmax stack sum_regularizer summaries summarize_activation summarize_activations
        summarize_collection summarize_tensor summarize_tensors tfexample_decoder train_eval
        training unit_norm utils variable variance_scaling_initializer xavier_initializer
        xavier_initializer_conv2d
    data: data_decoder data_provider dataset dataset_data_provider parallel_reader prefetch_queue
        tfexample_decoder
    data.data_decoder: DataDecoder
    data.data_provider: DataProvider
    data.dataset: Dataset
    data.dataset_data_provider: DatasetDataProvider data_provider parallel_reader
    data.parallel_reader: ParallelReader get_data_files parallel_read single_pass_read
    data.prefetch_queue: prefetch_queue
    data.tfexample_decoder: BackupHandler BoundingBox BoundingBoxSequence Image ItemHandler
        ItemHandlerCallback KeypointsSequence LookupTensor NumBoxesSequence SparseTensor
        TFExampleDecoder TFSequenceExampleDecoder Tensor data_decoder
    evaluation: SummaryAtEndHook checkpoints_iterator evaluate_once evaluate_repeatedly evaluation
        evaluation_loop wait_for_new_checkpoint
    layers: GDN OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES RevBlock adaptive_clipping_fn
        apply_regularization avg_pool2d avg_pool3d batch_norm bias_add bucketization_op bucketize
        conv1d conv2d conv2d_in_plane conv2d_transpose conv3d conv3d_transpose convolution
        convolution1d convolution2d convolution2d_in_plane convolution2d_transpose convolution3d
        convolution3d_transpose dense_to_sparse dropout flatten fully_connected gdn group_norm
        images_to_sequence initializers instance_norm l1_l2_regularizer l1_regularizer
        l2_regularizer layer_norm layers legacy_fully_connected max_pool2d max_pool3d maxout
        normalization one_hot_encoding optimize_loss optimizers pool recompute_grad regularizers
        repeat rev_block rev_block_lib scale_gradient separable_conv2d separable_convolution2d
        sequence_to_images softmax sparse_ops spatial_softmax stack sum_regularizer summaries
        summarize_activation summarize_activations summarize_collection summarize_tensor
        summarize_tensors unit_norm utils variance_scaling_initializer xavier_initializer
        xavier_initializer_conv2d
    layers.bucketization_op: bucketize
    layers.initializers: variance_scaling_initializer xavier_initializer xavier_initializer_conv2d
    layers.layers: DATA_FORMAT_NCDHW DATA_FORMAT_NCHW DATA_FORMAT_NDHWC DATA_FORMAT_NHWC GDN
        add_arg_scope avg_pool2d avg_pool3d batch_norm bias_add conv1d conv2d conv2d_in_plane
        conv2d_transpose conv3d conv3d_transpose convolution convolution1d convolution2d
        convolution2d_in_plane convolution2d_transpose convolution3d convolution3d_transpose
        dense_to_sparse dropout flatten fully_connected gdn images_to_sequence initializers
        layer_norm legacy_fully_connected max_pool2d max_pool3d maxout one_hot_encoding
        poincare_normalize pool repeat scale_gradient separable_conv2d separable_convolution2d
        sequence_to_images softmax spatial_softmax stack unit_norm utils variables
    layers.normalization: DATA_FORMAT_NCHW DATA_FORMAT_NHWC add_arg_scope group_norm instance_norm
        utils variables
    layers.optimizers: OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES adaptive_clipping_fn optimize_loss
    layers.regularizers: apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer
        sum_regularizer
    layers.rev_block_lib: LAYER_RE RevBlock arg_scope_lib enable_with_args recompute_grad
        rev_block
    layers.sparse_ops: dense_to_sparse_tensor indicators_to_sparse_ids sparse_row_envelope
    layers.summaries: summarize_activation summarize_activations summarize_collection
        summarize_tensor summarize_tensors
    layers.utils: NamedOutputs append_tensor_alias channel_dimension collect_named_outputs
        constant_value convert_collection_to_dict gather_tensors_aliases get_tensor_aliases
        get_variable_collections last_dimension n_positive_integers smart_cond static_cond
        two_element_tuple
    learning: add_gradients_summaries clip_gradient_norms create_train_op multiply_gradients train
        train_step training
    losses: absolute_difference add_loss cluster_loss compute_weighted_loss contrastive_loss
        cosine_distance get_losses get_regularization_losses get_total_loss hinge_loss
        lifted_struct_loss log_loss mean_pairwise_squared_error mean_squared_error metric_learning
        npairs_loss npairs_loss_multilabel sigmoid_cross_entropy softmax_cross_entropy
        sparse_softmax_cross_entropy triplet_semihard_loss
    losses.loss_ops: absolute_difference add_arg_scope add_loss compute_weighted_loss
        cosine_distance get_losses get_regularization_losses get_total_loss hinge_loss log_loss
        mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy
        sparse_softmax_cross_entropy
    losses.metric_learning: HAS_SKLEARN cluster_loss compute_augmented_facility_locations
        compute_augmented_facility_locations_pam compute_clustering_score compute_facility_energy
        compute_gt_cluster_score contrastive_loss get_cluster_assignment lifted_struct_loss
        masked_maximum masked_minimum npairs_loss npairs_loss_multilabel pairwise_distance
        triplet_semihard_loss update_1d_tensor update_all_medoids update_medoid_per_cluster
    metrics: accuracy aggregate_metric_map aggregate_metrics auc_using_histogram
        auc_with_confidence_intervals classification cohen_kappa count f1_score histogram_ops
        metric_ops precision_at_recall precision_recall_at_equal_thresholds recall_at_precision
        sparse_recall_at_top_k streaming_accuracy streaming_auc streaming_concat
        streaming_covariance streaming_curve_points streaming_dynamic_auc
        streaming_false_negative_rate streaming_false_negative_rate_at_thresholds
        streaming_false_negatives streaming_false_negatives_at_thresholds
        streaming_false_positive_rate streaming_false_positive_rate_at_thresholds
        streaming_false_positives streaming_false_positives_at_thresholds streaming_mean
        streaming_mean_absolute_error streaming_mean_cosine_distance streaming_mean_iou
        streaming_mean_relative_error streaming_mean_squared_error streaming_mean_tensor
        streaming_pearson_correlation streaming_percentage_less streaming_precision
        streaming_precision_at_thresholds streaming_recall streaming_recall_at_k
        streaming_recall_at_thresholds streaming_root_mean_squared_error
        streaming_sensitivity_at_specificity streaming_sparse_average_precision_at_k
        streaming_sparse_average_precision_at_top_k streaming_sparse_precision_at_k
        streaming_sparse_precision_at_top_k streaming_sparse_recall_at_k
        streaming_specificity_at_sensitivity streaming_true_negatives
        streaming_true_negatives_at_thresholds streaming_true_positives
        streaming_true_positives_at_thresholds
    metrics.classification: accuracy f1_score
    metrics.histogram_ops: auc_using_histogram
    metrics.metric_ops: aggregate_metric_map aggregate_metrics auc_with_confidence_intervals
        cohen_kappa count precision_at_recall precision_recall_at_equal_thresholds
        recall_at_precision sparse_recall_at_top_k streaming_accuracy streaming_auc
        streaming_concat streaming_covariance streaming_curve_points streaming_dynamic_auc
        streaming_false_negative_rate streaming_false_negative_rate_at_thresholds
        streaming_false_negatives streaming_false_negatives_at_thresholds
        streaming_false_positive_rate streaming_false_positive_rate_at_thresholds
        streaming_false_positives streaming_false_positives_at_thresholds streaming_mean
        streaming_mean_absolute_error streaming_mean_cosine_distance streaming_mean_iou
        streaming_mean_relative_error streaming_mean_squared_error streaming_mean_tensor
        streaming_pearson_correlation streaming_percentage_less streaming_precision
        streaming_precision_at_thresholds streaming_recall streaming_recall_at_k
        streaming_recall_at_thresholds streaming_root_mean_squared_error
        streaming_sensitivity_at_specificity streaming_sparse_average_precision_at_k
        streaming_sparse_average_precision_at_top_k streaming_sparse_precision_at_k
        streaming_sparse_precision_at_top_k streaming_sparse_recall_at_k
        streaming_specificity_at_sensitivity streaming_true_negatives
        streaming_true_negatives_at_thresholds streaming_true_positives
        streaming_true_positives_at_thresholds
    model_analyzer: analyze_ops analyze_vars tensor_description
    nets: alexnet inception inception_v1 inception_v2 inception_v3 overfeat resnet_utils resnet_v1
        resnet_v2 vgg
    nets.alexnet: alexnet_v2 alexnet_v2_arg_scope arg_scope layers layers_lib regularizers
        trunc_normal utils
    nets.inception: inception_v1 inception_v1_arg_scope inception_v1_base inception_v2
        inception_v2_arg_scope inception_v2_base inception_v3 inception_v3_arg_scope
        inception_v3_base
    nets.inception_v1: arg_scope inception_v1 inception_v1_arg_scope inception_v1_base
        initializers layers layers_lib regularizers trunc_normal
    nets.inception_v2: arg_scope inception_v2 inception_v2_arg_scope inception_v2_base
        initializers layers layers_lib regularizers trunc_normal
    nets.inception_v3: arg_scope inception_v3 inception_v3_arg_scope inception_v3_base
        initializers layers layers_lib regularizers trunc_normal
    nets.overfeat: arg_scope layers layers_lib overfeat overfeat_arg_scope regularizers
        trunc_normal utils
    nets.resnet_utils: Block add_arg_scope arg_scope conv2d_same initializers layers layers_lib
        regularizers resnet_arg_scope stack_blocks_dense subsample utils
    nets.resnet_v1: add_arg_scope arg_scope bottleneck layers layers_lib resnet_arg_scope
        resnet_utils resnet_v1 resnet_v1_101 resnet_v1_152 resnet_v1_200 resnet_v1_50
        resnet_v1_block utils
    nets.resnet_v2: add_arg_scope arg_scope bottleneck layers layers_lib resnet_arg_scope
        resnet_utils resnet_v2 resnet_v2_101 resnet_v2_152 resnet_v2_200 resnet_v2_50
        resnet_v2_block utils
    nets.vgg: arg_scope layers layers_lib regularizers utils vgg_16 vgg_19 vgg_a vgg_arg_scope
        vgg_d vgg_e
    ops: arg_scope framework_ops variables
    ops.arg_scope: add_arg_scope arg_scope arg_scope_func_key arg_scoped_arguments
        current_arg_scope has_arg_scope
    ops.framework_ops: get_graph_from_inputs get_name_scope
    ops.variables: VariableDeviceChooser add_model_variable arg_scope assert_global_step
        assert_or_get_global_step assign_from_checkpoint assign_from_checkpoint_fn
        assign_from_values assign_from_values_fn create_global_step filter_variables
        get_global_step get_local_variables get_model_variables get_or_create_global_step
        get_trainable_variables get_unique_variable get_variable_full_name get_variables
        get_variables_by_name get_variables_by_suffix get_variables_to_restore global_variable
        local_variable model_variable variable
    queues: NestedQueueRunnerError QueueRunners
    summaries: add_histogram_summaries add_histogram_summary add_image_summaries add_image_summary
        add_scalar_summaries add_scalar_summary add_zero_fraction_summaries
        add_zero_fraction_summary
    training: evaluation training
    training.evaluation: SummaryAtEndHook checkpoints_iterator evaluate_repeatedly
        wait_for_new_checkpoint
    training.training: add_gradients_summaries clip_gradient_norms clip_gradient_norms_fn
        create_train_op multiply_gradients train
"""
_MORE = "elu linear relu relu6"
"""Names of the layers that are neither a function nor a class."""


def _read() -> Iterator[tuple[str, frozenset[str]]]:
    for row in _NAMES.replace("\n        ", " ").strip().splitlines():
        module, _, names = row.strip().partition(": ")
        more = _MORE if module in (".", "layers", "layers.layers") else ""
        yield f"{ROOT}.{module}".rstrip("."), frozenset(f"{names} {more}".split())


SLIM_NAMES: Mapping[str, frozenset[str]] = dict(_read())
"""Module to what it has."""


def is_slim_name(name: str) -> bool:
    """Whether a qualified name of tf_slim is a module or something in one, or inside of that."""
    module, rest = ROOT, name.removeprefix(ROOT).lstrip(".").split(".")
    while rest and f"{module}.{rest[0]}" in SLIM_NAMES:
        module = f"{module}.{rest.pop(0)}"
    return not rest or rest == [""] or rest[0] in SLIM_NAMES[module]
