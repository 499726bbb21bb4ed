"""Public names that TensorFlow 2 has and TensorFlow 1 lacks.

Read in TensorFlow 1.15.5 and 2.21.0, without `tf.raw_ops`, `tf.experimental` and `tf.dtensor`. A
module that is new as a whole stands here by its own name only. A program that uses one of them,
outside of a test of the version, was not written for TensorFlow 1.
"""

from __future__ import annotations

_NAMES = """
    NoneTensorSpec approx_top_k check_pinned config.LogicalDevice config.LogicalDeviceConfiguration
    config.PhysicalDevice config.functions_run_eagerly config.get_logical_device_configuration
    config.get_visible_devices config.list_logical_devices config.list_physical_devices
    config.run_functions_eagerly config.set_logical_device_configuration config.set_visible_devices
    conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2 data.AUTOTUNE data.INFINITE_CARDINALITY
    data.IteratorSpec data.NumpyIterator data.ThreadingOptions data.UNKNOWN_CARDINALITY
    debugging.disable_check_numerics debugging.disable_traceback_filtering
    debugging.enable_check_numerics debugging.enable_traceback_filtering
    debugging.is_traceback_filtering_enabled distribute.DistributedDataset
    distribute.DistributedIterator distribute.DistributedValues distribute.InputOptions
    distribute.MultiWorkerMirroredStrategy distribute.ParameterServerStrategy distribute.RunOptions
    distribute.TPUStrategy distribute.cluster_resolver.KubernetesExecutableLocation
    distribute.coordinator eig eigvals errors.OperatorNotAllowedInGraphError
    feature_column.shared_embeddings fftnd get_current_name_scope ifftnd image.decode_jxl
    image.decode_webp image.generate_bounding_box_proposals image.resize_with_pad
    image.stateless_random_brightness image.stateless_random_contrast image.stateless_random_crop
    image.stateless_random_flip_left_right image.stateless_random_flip_up_down
    image.stateless_random_hue image.stateless_random_jpeg_quality image.stateless_random_saturation
    image.stateless_sample_distorted_bounding_box inside_function io.RaggedFeature io.decode_jxl
    io.decode_webp io.encode_png io.gfile.get_registered_schemes io.gfile.join irfftnd
    is_symbolic_tensor keras.DTypePolicy keras.FloatDTypePolicy keras.Function keras.Initializer
    keras.InputSpec keras.KerasTensor keras.Layer keras.Loss keras.Metric keras.Operation
    keras.Optimizer keras.Quantizer keras.Regularizer keras.RematScope keras.StatelessScope
    keras.SymbolicScope keras.Variable keras.activations.celu keras.activations.gelu
    keras.activations.glu keras.activations.hard_shrink keras.activations.hard_silu
    keras.activations.hard_swish keras.activations.hard_tanh keras.activations.leaky_relu
    keras.activations.log_sigmoid keras.activations.log_softmax keras.activations.mish
    keras.activations.relu6 keras.activations.silu keras.activations.soft_shrink
    keras.activations.sparse_plus keras.activations.sparse_sigmoid keras.activations.sparsemax
    keras.activations.squareplus keras.activations.swish keras.activations.tanh_shrink
    keras.activations.threshold keras.applications.ConvNeXtBase keras.applications.ConvNeXtLarge
    keras.applications.ConvNeXtSmall keras.applications.ConvNeXtTiny
    keras.applications.ConvNeXtXLarge keras.applications.EfficientNetB0
    keras.applications.EfficientNetB1 keras.applications.EfficientNetB2
    keras.applications.EfficientNetB3 keras.applications.EfficientNetB4
    keras.applications.EfficientNetB5 keras.applications.EfficientNetB6
    keras.applications.EfficientNetB7 keras.applications.EfficientNetV2B0
    keras.applications.EfficientNetV2B1 keras.applications.EfficientNetV2B2
    keras.applications.EfficientNetV2B3 keras.applications.EfficientNetV2L
    keras.applications.EfficientNetV2M keras.applications.EfficientNetV2S
    keras.applications.MobileNetV3Large keras.applications.MobileNetV3Small
    keras.applications.convnext keras.applications.efficientnet keras.applications.efficientnet_v2
    keras.applications.mobilenet_v3 keras.backend.binary_focal_crossentropy
    keras.backend.categorical_focal_crossentropy keras.backend.depthwise_conv2d
    keras.backend.is_float_dtype keras.backend.is_int_dtype keras.backend.is_keras_tensor
    keras.backend.random_bernoulli keras.backend.result_type keras.backend.standardize_dtype
    keras.callbacks.BackupAndRestore keras.callbacks.CallbackList keras.callbacks.OrbaxCheckpoint
    keras.callbacks.SwapEMAWeights keras.config keras.datasets.california_housing
    keras.datasets.reuters.get_label_names keras.device keras.distillation keras.distribution
    keras.dtype_policies keras.export keras.initializers.GlorotNormal
    keras.initializers.GlorotUniform keras.initializers.HeNormal keras.initializers.HeUniform
    keras.initializers.IdentityInitializer keras.initializers.LecunNormal
    keras.initializers.LecunUniform keras.initializers.OrthogonalInitializer keras.initializers.STFT
    keras.initializers.STFTInitializer keras.initializers.stft keras.initializers.variance_scaling
    keras.layers.AdaptiveAveragePooling1D keras.layers.AdaptiveAveragePooling2D
    keras.layers.AdaptiveAveragePooling3D keras.layers.AdaptiveMaxPooling1D
    keras.layers.AdaptiveMaxPooling2D keras.layers.AdaptiveMaxPooling3D keras.layers.AugMix
    keras.layers.AutoContrast keras.layers.CategoryEncoding keras.layers.CenterCrop
    keras.layers.ContrastLimitedAdaptiveHistogramEqualization keras.layers.Conv1DTranspose
    keras.layers.ConvLSTM1D keras.layers.ConvLSTM3D keras.layers.Convolution1DTranspose
    keras.layers.CutMix keras.layers.DepthwiseConv1D keras.layers.Discretization
    keras.layers.EinsumDense keras.layers.Equalization keras.layers.FlaxLayer
    keras.layers.GroupNormalization keras.layers.GroupQueryAttention keras.layers.HashedCrossing
    keras.layers.Hashing keras.layers.Identity keras.layers.IntegerLookup keras.layers.JaxLayer
    keras.layers.MaxNumBoundingBoxes keras.layers.MelSpectrogram keras.layers.MixUp
    keras.layers.MultiHeadAttention keras.layers.Normalization keras.layers.Pipeline
    keras.layers.RMSNormalization keras.layers.RandAugment keras.layers.RandomBrightness
    keras.layers.RandomColorDegeneration keras.layers.RandomColorJitter keras.layers.RandomContrast
    keras.layers.RandomCrop keras.layers.RandomElasticTransform keras.layers.RandomErasing
    keras.layers.RandomFlip keras.layers.RandomGaussianBlur keras.layers.RandomGrayscale
    keras.layers.RandomHeight keras.layers.RandomHue keras.layers.RandomInvert
    keras.layers.RandomPerspective keras.layers.RandomPosterization keras.layers.RandomRotation
    keras.layers.RandomSaturation keras.layers.RandomSharpness keras.layers.RandomShear
    keras.layers.RandomTranslation keras.layers.RandomWidth keras.layers.RandomZoom
    keras.layers.Rescaling keras.layers.Resizing keras.layers.ReversibleEmbedding
    keras.layers.STFTSpectrogram keras.layers.Solarization keras.layers.SpectralNormalization
    keras.layers.StringLookup keras.layers.TFSMLayer keras.layers.TextVectorization
    keras.layers.TorchModuleWrapper keras.layers.UnitNormalization
    keras.losses.BinaryFocalCrossentropy keras.losses.CTC keras.losses.CategoricalFocalCrossentropy
    keras.losses.CategoricalGeneralizedCrossEntropy keras.losses.Circle keras.losses.Dice
    keras.losses.Reduction keras.losses.Tversky keras.losses.binary_focal_crossentropy
    keras.losses.categorical_focal_crossentropy keras.losses.categorical_generalized_cross_entropy
    keras.losses.circle keras.losses.ctc keras.losses.dice keras.losses.huber keras.losses.tversky
    keras.metrics.BinaryIoU keras.metrics.ConcordanceCorrelation keras.metrics.F1Score
    keras.metrics.FBetaScore keras.metrics.IoU keras.metrics.MeanMetricWrapper
    keras.metrics.OneHotIoU keras.metrics.OneHotMeanIoU keras.metrics.PearsonCorrelation
    keras.metrics.PrecisionAtRecall keras.metrics.R2Score keras.metrics.RecallAtPrecision
    keras.metrics.binary_focal_crossentropy keras.metrics.categorical_focal_crossentropy
    keras.metrics.categorical_hinge keras.metrics.concordance_correlation keras.metrics.huber
    keras.metrics.logcosh keras.metrics.pearson_correlation keras.mixed_precision.DTypePolicy
    keras.mixed_precision.LossScaleOptimizer keras.mixed_precision.Policy
    keras.mixed_precision.dtype_policy keras.mixed_precision.global_policy
    keras.mixed_precision.set_dtype_policy keras.mixed_precision.set_global_policy keras.name_scope
    keras.ops keras.optimizers.Adafactor keras.optimizers.AdamW keras.optimizers.Lamb
    keras.optimizers.Lion keras.optimizers.LossScaleOptimizer keras.optimizers.MultiOptimizer
    keras.optimizers.Muon keras.optimizers.OptimizerMap keras.optimizers.ScheduleFreeAdamW
    keras.optimizers.schedules.CosineDecay keras.optimizers.schedules.CosineDecayRestarts
    keras.preprocessing.image.smart_resize keras.preprocessing.image_dataset_from_directory
    keras.preprocessing.text.tokenizer_from_json keras.preprocessing.text_dataset_from_directory
    keras.preprocessing.timeseries_dataset_from_array keras.quantizers keras.random
    keras.regularizers.L1 keras.regularizers.L2 keras.regularizers.OrthogonalRegularizer
    keras.regularizers.orthogonal_regularizer keras.remat keras.tree keras.utils.Config
    keras.utils.FeatureSpace keras.utils.PyDataset keras.utils.array_to_img
    keras.utils.audio_dataset_from_directory keras.utils.bounding_boxes keras.utils.clear_session
    keras.utils.disable_interactive_logging keras.utils.enable_interactive_logging
    keras.utils.get_registered_name keras.utils.get_registered_object
    keras.utils.image_dataset_from_directory keras.utils.img_to_array
    keras.utils.is_interactive_logging_enabled keras.utils.is_keras_tensor keras.utils.load_img
    keras.utils.pack_x_y_sample_weight keras.utils.pad_sequences
    keras.utils.register_keras_serializable keras.utils.save_img keras.utils.set_random_seed
    keras.utils.split_dataset keras.utils.standardize_dtype keras.utils.text_dataset_from_directory
    keras.utils.timeseries_dataset_from_array keras.utils.unpack_x_y_sample_weight keras.version
    keras.visualization keras.wrappers.SKLearnClassifier keras.wrappers.SKLearnRegressor
    keras.wrappers.SKLearnTransformer linalg.LinearOperatorBlockLowerTriangular
    linalg.LinearOperatorPermutation linalg.LinearOperatorTridiag linalg.banded_triangular_solve
    linalg.eig linalg.eigh_tridiagonal linalg.eigvals linalg.lu_matrix_inverse linalg.lu_reconstruct
    linalg.lu_solve math.approx_max_k math.approx_min_k math.erfcinv math.erfinv math.ndtri
    math.sobol_sample math.special math.xlog1py nn.RNNCellDeviceWrapper nn.RNNCellDropoutWrapper
    nn.RNNCellResidualWrapper nn.approx_max_k nn.approx_min_k nn.gelu nn.isotonic_regression nn.silu
    quantization.quantize_and_dequantize_v2 ragged.cross ragged.cross_hashed ragged_fill_empty_rows
    ragged_fill_empty_rows_grad random.Algorithm random.Generator random.create_rng_state
    random.fold_in random.get_global_generator random.set_global_generator random.set_seed
    random.split random.stateless_binomial random.stateless_gamma
    random.stateless_parameterized_truncated_normal random.stateless_poisson random_index_shuffle
    rfftnd saved_model.Asset saved_model.DEBUG_DIRECTORY saved_model.DEBUG_INFO_FILENAME_PB
    saved_model.LoadOptions saved_model.SaveOptions signal.fftnd signal.ifftnd signal.inverse_mdct
    signal.irfftnd signal.kaiser_bessel_derived_window signal.kaiser_window signal.mdct
    signal.rfftnd signal.vorbis_window sparse.bincount sparse.map_values sparse.sampled_addmm
    summary.SummaryWriter summary.create_file_writer summary.create_noop_writer summary.flush
    summary.graph summary.record_if summary.should_record_summaries summary.trace_export
    summary.trace_off summary.trace_on summary.write sysconfig.CXX_VERSION sysconfig.get_build_info
    tensor_scatter_nd_max tensor_scatter_nd_min test.disable_with_predicate test.is_built_with_xla
    test.is_cpu_target_available test.with_eager_op_as_function tpu.XLAOptions
    train.CheckpointOptions train.CheckpointView train.TrackableView type_spec_from_value types
"""

V2_NAMES = frozenset(_NAMES.split())
"""Functions, classes and modules, without `tensorflow.`."""


def is_v2_name(path: str) -> bool:
    """Whether a dotted name, without `tensorflow.`, is one of TensorFlow 2, or inside one."""
    while path:
        if path in V2_NAMES:
            return True
        path = path.rpartition(".")[0]
    return False
