"""Where names of TensorFlow 1 that `tf.compat.v1` lacks are now.

Read in TensorFlow 1.15.5 and 2.21.0, tf_slim 1.1.0 and 1.2.0, and in the modules of
`templates/tensorflow1`; tests/probes/test_tensorflow1_names.py looks every row up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crosscast_tensorflow.migration.experimental.tensorflow1 import private_names as private
from crosscast_tensorflow.migration.experimental.tensorflow1.slim_names import (
    ROOT,
    SLIM_NAMES,
    is_slim_name,
)

V1 = "tensorflow.compat.v1"
ESTIMATOR = "session_estimator"
RUNS = "session_estimator_runs"
TPU = "session_tpu_estimator"
LOSS_SCALING = "session_loss_scaling"
HPARAMS = "contrib_hparams"
MNIST = "mnist_input_data"
_OF_MNIST = ("DEFAULT_SOURCE_URL", "DataSet", "Datasets", "read_data_sets")
HELPERS = (ESTIMATOR, RUNS, TPU, LOSS_SCALING, HPARAMS, MNIST)
"""Modules that a migration writes beside the program."""

_LAYERS = """
    GDN OPTIMIZER_CLS_NAMES RevBlock apply_regularization avg_pool2d avg_pool3d batch_norm
    bias_add conv1d conv2d conv2d_in_plane conv2d_transpose conv3d conv3d_transpose convolution
    convolution1d convolution2d convolution2d_in_plane convolution2d_transpose convolution3d
    convolution3d_transpose dense_to_sparse dropout elu flatten fully_connected gdn group_norm
    images_to_sequence instance_norm l1_l2_regularizer l1_regularizer l2_regularizer layer_norm
    legacy_fully_connected legacy_linear legacy_relu linear max_pool2d max_pool3d maxout
    one_hot_encoding optimize_loss recompute_grad relu relu6 repeat rev_block scale_gradient
    separable_conv2d separable_convolution2d sequence_to_images softmax spatial_softmax stack
    sum_regularizer summarize_activation summarize_activations summarize_collection
    summarize_tensor summarize_tensors unit_norm variance_scaling_initializer xavier_initializer
    xavier_initializer_conv2d
    """
_SAME: tuple[tuple[str, str, str], ...] = (
    ("contrib.layers", "tf_slim", _LAYERS),
    ("contrib.layers.python.layers", "tf_slim", _LAYERS),
    (
        "contrib.framework",
        "tf_slim",
        """
        VariableDeviceChooser add_arg_scope add_model_variable arg_scope arg_scoped_arguments
        assert_or_get_global_step assign_from_checkpoint assign_from_checkpoint_fn
        assign_from_values assign_from_values_fn
        current_arg_scope filter_variables get_local_variables
        get_model_variables get_trainable_variables get_unique_variable get_variable_full_name
        get_variables get_variables_by_name get_variables_by_suffix get_variables_to_restore
        global_variable has_arg_scope local_variable model_variable variable
        """,
    ),
    (
        "contrib.framework",
        f"{V1}.train",
        "assert_global_step create_global_step get_global_step get_or_create_global_step "
        "init_from_checkpoint list_variables load_checkpoint load_variable",
    ),
    ("contrib.framework", V1, "TensorSpec argsort sort is_tensor assert_same_float_dtype"),
    (
        "contrib.framework.nest",
        f"{V1}.nest",
        "assert_same_structure flatten is_nested map_structure pack_sequence_as",
    ),
    (
        "contrib.rnn",
        f"{V1}.nn.rnn_cell",
        "BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell LSTMStateTuple "
        "MultiRNNCell RNNCell ResidualWrapper",
    ),
    (
        "contrib.rnn",
        f"{V1}.nn",
        "static_bidirectional_rnn static_rnn static_state_saving_rnn",
    ),
    (
        "contrib.data",
        f"{V1}.data.experimental",
        """
        AUTOTUNE Counter CsvDataset Optional RandomDataset Reducer SqlDataset TFRecordWriter
        bucket_by_sequence_length choose_from_datasets copy_to_device dense_to_sparse_batch
        enumerate_dataset get_next_as_optional get_single_element group_by_reducer group_by_window
        ignore_errors make_batched_features_dataset make_csv_dataset make_saveable_from_iterator
        map_and_batch parallel_interleave parse_example_dataset prefetch_to_device
        rejection_resample sample_from_datasets scan shuffle_and_repeat unbatch unique
        """,
    ),
    (
        "contrib.eager",
        V1,
        "GradientTape TensorSpec custom_gradient enable_eager_execution executing_eagerly function",
    ),
    ("contrib.eager", f"{V1}.train", "Checkpoint"),
    (
        "contrib.cluster_resolver",
        f"{V1}.distribute.cluster_resolver",
        "ClusterResolver GCEClusterResolver KubernetesClusterResolver SimpleClusterResolver "
        "SlurmClusterResolver TFConfigClusterResolver TPUClusterResolver",
    ),
    (
        "contrib.signal",
        f"{V1}.signal",
        "frame hamming_window hann_window inverse_stft inverse_stft_window_fn "
        "linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms overlap_and_add stft",
    ),
    (
        "contrib.distributions",
        f"{V1}.distributions",
        "Bernoulli Beta Categorical Dirichlet DirichletMultinomial Distribution Exponential Gamma "
        "Laplace Multinomial Normal RegisterKL StudentT Uniform kl_divergence",
    ),
    (
        "contrib.tpu",
        f"{V1}.tpu",
        "CrossShardOptimizer bfloat16_scope cross_replica_sum initialize_system "
        "outside_compilation replicate rewrite shard shutdown_system",
    ),
    (
        "estimator",
        f"{V1}.train",
        """
        CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook
        LoggingTensorHook NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer
        SessionRunArgs SessionRunContext SessionRunHook SessionRunValues StepCounterHook
        StopAtStepHook SummarySaverHook VocabInfo
        """,
    ),
    (
        "estimator",
        ESTIMATOR,
        "Estimator EstimatorSpec ModeKeys RunConfig WarmStartSettings",
    ),
    ("estimator", RUNS, "EvalSpec TrainSpec train_and_evaluate"),
    ("estimator.inputs", RUNS, "numpy_input_fn"),
    (
        "estimator.export",
        ESTIMATOR,
        "PredictOutput ServingInputReceiver TensorServingInputReceiver",
    ),
    ("python.estimator.estimator", ESTIMATOR, "Estimator"),
    ("python.estimator.model_fn", ESTIMATOR, "EstimatorSpec ModeKeys"),
    ("python.estimator.run_config", ESTIMATOR, "RunConfig"),
    *(
        (place, TPU, "InputPipelineConfig TPUConfig TPUEstimator TPUEstimatorSpec")
        for place in ("contrib.tpu", "estimator.tpu")
    ),
    (
        "contrib.mixed_precision",
        LOSS_SCALING,
        "ExponentialUpdateLossScaleManager FixedLossScaleManager LossScaleManager "
        "LossScaleOptimizer",
    ),
)
"""Old place, new place, and the names that moved as they are."""

_RENAMED = {
    "contrib.slim": "tf_slim",
    "contrib.slim.python.slim": "tf_slim",
    **{
        f"contrib.layers.python.layers.{name}": f"tf_slim.layers.{name}"
        for name in (
            "initializers",
            "layers",
            "normalization",
            "optimizers",
            "regularizers",
            "rev_block_lib",
            "summaries",
            "utils",
        )
    },
    "contrib.framework.python.ops.variables": "tf_slim.ops.variables",
    "contrib.framework.python.ops.add_arg_scope": "tf_slim.add_arg_scope",
    # `from ...ops import arg_scope` gave the function, which hides the module of that name.
    "contrib.framework.python.ops.arg_scope": "tf_slim.arg_scope",
    **{
        f"contrib.framework.python.ops.arg_scope.{name}": f"tf_slim.ops.arg_scope.{name}"
        for name in SLIM_NAMES["tf_slim.ops.arg_scope"]
    },
    "contrib.tpu.RunConfig": f"{TPU}.TPURunConfig",
    "estimator.tpu.RunConfig": f"{TPU}.TPURunConfig",
    "contrib.learn.ModeKeys.TRAIN": f"{ESTIMATOR}.ModeKeys.TRAIN",
    "contrib.learn.ModeKeys.EVAL": f"{ESTIMATOR}.ModeKeys.EVAL",
    "contrib.learn.ModeKeys.INFER": f"{ESTIMATOR}.ModeKeys.PREDICT",
    "examples.tutorials.mnist.input_data": MNIST,
    "contrib.learn.python.learn.datasets.mnist": MNIST,
    "contrib.training.HParams": f"{HPARAMS}.HParams",
    "contrib.compiler.jit.experimental_jit_scope": f"{V1}.xla.experimental.jit_scope",
    "contrib.compiler.xla.compile": f"{V1}.xla.experimental.compile",
    "contrib.eager.py_func": f"{V1}.py_function",
    "contrib.eager.in_eager_mode": f"{V1}.executing_eagerly",
    "contrib.util.constant_value": f"{V1}.get_static_value",
    "contrib.util.make_tensor_proto": f"{V1}.make_tensor_proto",
    "pywrap_tensorflow.NewCheckpointReader": f"{V1}.train.NewCheckpointReader",
    "python.pywrap_tensorflow.NewCheckpointReader": f"{V1}.train.NewCheckpointReader",
    # Names of before TensorFlow 1.0 whose arguments kept their places.
    "audio_summary": f"{V1}.summary.audio",
    "histogram_summary": f"{V1}.summary.histogram",
    "image_summary": f"{V1}.summary.image",
    "merge_all_summaries": f"{V1}.summary.merge_all",
    "merge_summary": f"{V1}.summary.merge",
    "scalar_summary": f"{V1}.summary.scalar",
    "train.SummaryWriter": f"{V1}.summary.FileWriter",
    "mul": f"{V1}.multiply",
    "neg": f"{V1}.negative",
    "sub": f"{V1}.subtract",
    "pack": f"{V1}.stack",
    "unpack": f"{V1}.unstack",
    "contrib.distribute.OneDeviceStrategy": f"{V1}.distribute.OneDeviceStrategy",
}

PLAIN_INITIALIZERS: Mapping[str, str] = {
    f"contrib.layers.{name}": f"{V1}.glorot_uniform_initializer"
    for name in ("xavier_initializer", "xavier_initializer_conv2d")
}
"""Initializers that are those of TensorFlow if only `seed` and `dtype` are given, by name."""

_GONE = {
    "contrib.seq2seq": "write the decoder with tf.while_loop, or in Keras",
    "contrib.cudnn_rnn": "write the layer with tf.keras.layers.LSTM or GRU, which use cuDNN",
    "contrib.learn": "write the model function and the input by hand",
    "contrib.losses": "use tf.losses; its arguments are labels first, then predictions",
    "contrib.metrics": "use tf.metrics; its arguments are labels first, then predictions",
    "contrib.summary": "use tf.summary and a FileWriter",
    "contrib.crf": "write the likelihood by hand, or use a maintained package",
    "contrib.distribute": "use tf.distribute; the arguments of its strategies differ",
    "contrib.eager": "use the names of tf itself",
    "contrib.eager.Saver": "save and restore with tf.train.Checkpoint(model=model)",
    "contrib.eager.defun": "use tf.function(function, autograph=False)",
    "contrib.eager.metrics": "use tf.keras.metrics: a call of those returns the result, not what "
    "it was given",
    "contrib.eager.num_gpus": 'use len(tf.config.list_physical_devices("GPU"))',
    **dict.fromkeys(
        (
            f"contrib.eager.{name}"
            for name in (
                "gradients_function",
                "implicit_gradients",
                "implicit_value_and_gradients",
                "value_and_gradients_function",
            )
        ),
        "compute the gradients with a tf.GradientTape",
    ),
    "contrib.opt": "use an optimizer of tf.train, or write its update by hand",
    "contrib.layers.embed_sequence": "create the variable and use tf.nn.embedding_lookup",
    "contrib": "write it with operations of tf",
    "estimator.inputs": "write the input function with tf.data.Dataset.from_tensor_slices",
    "estimator.export": "export with tf.saved_model.simple_save in a session",
    "estimator": "write the model function by hand, for session_estimator.Estimator",
    "keras.estimator": "write the model function by hand, for session_estimator.Estimator",
    "examples": "read the data with code of your own, or with tf.keras.datasets",
    "config.experimental_list_devices": "use tf.config.list_logical_devices",
    "data.experimental.CheckpointInputPipelineHook": "save the iterator with tf.train.Checkpoint",
    "data.experimental.StatsAggregator": "remove it: statistics of datasets are gone",
    "data.experimental.StatsOptions": "remove it: statistics of datasets are gone",
    "python.estimator": "use the public names",
    "python.training.training_ops": "use tf.raw_ops",
    "python.training.distribution_strategy_context": "use tf.distribute",
    "pywrap_tensorflow": "use the public names",
    **dict.fromkeys(private.LOST, "use the public names"),
    **{
        f"python.{name}": "write the layer: tf.layers.dense of tf.concat(inputs, 1)"
        for name in private.OLDER
    },
}
"""Names without a counterpart, and what to write instead."""

_LEGACY = ("layers", "nn.rnn_cell", "keras", "python.ops.rnn_cell", "python.layers", "python.keras")


def _rows() -> Iterator[tuple[str, str]]:
    for old, new, names in _SAME:
        for name in names.split():
            yield f"{old}.{name}", f"{new}.{name}"
    yield from _RENAMED.items()
    for old, new, names in private.PUBLIC:
        for name in names.split():
            yield f"python.{old}.{name}", ".".join(part for part in (V1, new, name) if part)
    for old, new in private.RENAMED.items():
        yield f"python.{old}", f"{V1}.{new}"


MOVED: Mapping[str, str] = dict(_rows())
"""Old name without `tensorflow.`, and new qualified name."""


def moved(path: str) -> tuple[str, str]:
    """Return the new name of the longest known beginning of a name, and the rest; else empty."""
    head = path
    while head:
        if head in MOVED:
            new, rest = MOVED[head], path[len(head) :]
            lost = new == MNIST and rest and rest.split(".")[1] not in _OF_MNIST
            lost = lost or (new.partition(".")[0] == ROOT and not is_slim_name(new + rest))
            return ("", "") if lost else (new, rest)
        head = head.rpartition(".")[0]
    return "", ""


def gone(path: str) -> tuple[str, str]:
    """Return the known beginning of a name that is gone, and what to write; else empty."""
    head = path
    while head:
        if head in _GONE:
            return head, _GONE[head]
        head = head.rpartition(".")[0]
    return "", ""


def needs_legacy_keras(name: str) -> bool:
    """Whether a name works only with the layers of Keras 2.

    Args:
        name: without `tensorflow.`, or a qualified name of another package.
    """
    return name.startswith("tf_slim") or any(
        name == place or name.startswith(f"{place}.") for place in _LEGACY
    )
