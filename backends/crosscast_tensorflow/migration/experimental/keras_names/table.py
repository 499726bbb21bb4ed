"""What Keras 3 renamed, moved, ignores or removed; a test probes every row where Keras 3 is."""

from __future__ import annotations

from dataclasses import dataclass

_OPTIMIZERS = ("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSprop", "SGD")
_LOSSES = {
    "kl_divergence": ("kld", "KLD", "kullback_leibler_divergence"),
    "log_cosh": ("logcosh",),
    "mean_absolute_error": ("mae", "MAE"),
    "mean_absolute_percentage_error": ("mape", "MAPE"),
    "mean_squared_error": ("mse", "MSE"),
    "mean_squared_logarithmic_error": ("msle", "MSLE"),
}
"""Function of `keras.losses` and `keras.metrics` to what `tensorflow.keras` calls it instead."""
_SAVING = {
    "load_model": "models", "save_model": "models",
    **dict.fromkeys(
        ("custom_object_scope", "CustomObjectScope", "deserialize_keras_object",
         "get_custom_objects", "get_registered_name", "get_registered_object",
         "register_keras_serializable", "serialize_keras_object"), "utils",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moved:
    """A name with another name in Keras 3. Names begin with `keras`."""

    old: str
    new: str
    library: str = ""
    """The only library that lacks the old name: `tensorflow` or `keras`; empty: both."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A name without a counterpart."""

    old: str
    hint: str


@dataclass(frozen=True, slots=True)
class Argument:
    """A keyword argument that Keras 3 rejects or ignores."""

    call: str
    """Regular expression of canonical names, or `.method` of a model."""
    old: str
    new: str = ""
    """The new name; empty if the argument is dropped."""
    harmless: tuple[object, ...] | None = None
    """The values with which it may be dropped; None: any."""
    hint: str = ""
    """What to write for any other value; empty if such a value stays."""
    note: str = ""
    """What is different without it."""


MOVED = (
    *(
        Moved(f"keras.mixed_precision.experimental.{old}", f"keras.mixed_precision.{new}")
        for old, new in (
            ("Policy", "Policy"),
            ("set_policy", "set_global_policy"),
            ("global_policy", "global_policy"),
            ("LossScaleOptimizer", "LossScaleOptimizer"),
        )
    ),
    Moved("keras.mixed_precision.set_policy", "keras.mixed_precision.set_global_policy"),
    *(
        Moved(
            f"keras.optimizers.{package}.{name}",
            f"keras.optimizers.{name}",
        )
        for package in ("legacy", "experimental")
        for name in _OPTIMIZERS
    ),
    Moved("keras.experimental.CosineDecay", "keras.optimizers.schedules.CosineDecay"),
    Moved(
        "keras.experimental.CosineDecayRestarts", "keras.optimizers.schedules.CosineDecayRestarts"
    ),
    Moved("keras.engine.topology.Layer", "keras.layers.Layer"),
    Moved("keras.engine.training.Model", "keras.Model"),
    *(
        Moved(f"keras.{home}.{name}", f"keras.{home}.{short[0]}", library="tensorflow")
        for home in ("losses", "metrics")
        for name, short in _LOSSES.items()
    ),
    *(
        Moved(f"keras.{home}.{old}", f"keras.{home}.{name}", library="keras")
        for home in ("losses", "metrics")
        for name, short in _LOSSES.items()
        for old in short
    ),
    *(
        Moved(f"keras.saving.{name}", f"keras.{home}.{name}", library="tensorflow")
        for name, home in _SAVING.items()
    ),
    Moved("keras.losses.Reduction.AUTO", "keras.losses.Reduction.SUM_OVER_BATCH_SIZE"),
)
"""Old names to new ones, besides those that are in the module around their old one now."""

PACKAGES = {
    "keras.mixed_precision.experimental": "keras.mixed_precision",
    "keras.optimizers.legacy": "keras.optimizers",
    "keras.optimizers.experimental": "keras.optimizers",
    "keras.layers.experimental.preprocessing": "keras.layers",
    "keras.callbacks.experimental": "keras.callbacks",
    "keras.utils.vis_utils": "keras.utils",
    "keras.utils.np_utils": "keras.utils",
    "keras.utils.generic_utils": "keras.utils",
}
"""Modules whose names moved to another module."""

_EAGER = "train with fit or a GradientTape; TensorFlow runs eagerly, without a session"
GONE = (
    Gone("keras.mixed_precision.experimental.get_layer_policy", "read layer.dtype_policy"),
    Gone("keras.utils.multi_gpu_model", "build the model under tf.distribute.MirroredStrategy"),
    Gone("keras.backend.get_session", _EAGER),
    Gone("keras.backend.set_session", _EAGER),
    Gone("keras.backend.placeholder", "use keras.Input"),
    Gone("keras.backend.function", "use keras.Model(inputs, outputs)"),
    Gone("keras.backend.learning_phase", "pass training=... to the layers and the model"),
    Gone("keras.backend.set_learning_phase", "pass training=... to the layers and the model"),
    Gone("keras.backend.in_train_phase", "write `a if training else b` with an argument training"),
    Gone("keras.backend.manual_variable_initialization", "remove it"),
    Gone("keras.layers.CuDNNLSTM", "use keras.layers.LSTM, which uses cuDNN by itself"),
    Gone("keras.layers.CuDNNGRU", "use keras.layers.GRU, which uses cuDNN by itself"),
    Gone("keras.layers.LocallyConnected1D", "write the layer with keras.ops, or use Conv1D"),
    Gone("keras.layers.LocallyConnected2D", "write the layer with keras.ops, or use Conv2D"),
    Gone("keras.layers.AbstractRNNCell", "derive from keras.layers.Layer; write state_size and "
         "get_initial_state(self, batch_size=None), which returns a list of zeros"),
    Gone("keras.layers.DenseFeatures", "use keras.utils.FeatureSpace or preprocessing layers"),
    Gone("keras.layers.experimental.SyncBatchNormalization",
         "use keras.layers.BatchNormalization(synchronized=True)"),
    Gone("keras.layers.experimental.RandomFourierFeatures", "write the layer by hand"),
    Gone("keras.experimental.LinearCosineDecay", "write a LearningRateSchedule"),
    Gone("keras.experimental.NoisyLinearCosineDecay", "write a LearningRateSchedule"),
    Gone("keras.experimental.PeepholeLSTMCell", "write the cell by hand"),
    Gone("keras.experimental.LinearModel", "use a keras.layers.Dense"),
    Gone("keras.experimental.WideDeepModel", "write the model with two branches"),
    Gone("keras.experimental.export_saved_model", "write model.export(path)"),
    Gone("keras.experimental.load_from_saved_model", "use keras.layers.TFSMLayer(path)"),
    Gone("keras.wrappers.scikit_learn", "use the package scikeras"),
    Gone("keras.estimator.model_to_estimator", "train with fit: TensorFlow has no estimators"),
    Gone("keras.utils.experimental.DatasetCreator", "pass a tf.data.Dataset to fit"),
    *(
        Gone(f"keras.utils.{name}", "pass a keras.utils.PyDataset to fit")
        for name in ("OrderedEnqueuer", "GeneratorEnqueuer", "SequenceEnqueuer")
    ),
    Gone("keras.callbacks.BaseLogger", "logs are averaged without it"),
    Gone("keras.constraints.RadialConstraint", "write a Constraint"),
    Gone("keras.constraints.radial_constraint", "write a Constraint"),
    Gone("keras.metrics.MeanRelativeError", "write a Metric"),
    Gone("keras.metrics.MeanTensor", "write a Metric with a weight of the shape of the tensor"),
    Gone("keras.models.model_from_config", "write keras.Model.from_config or Sequential's"),
    Gone("keras.models.model_from_yaml", "write model.to_json and model_from_json"),
    Gone("keras.experimental.SequenceFeatures", "use preprocessing layers"),
    Gone("keras.layers.experimental.preprocessing.CategoryCrossing",
         "use keras.layers.HashedCrossing"),
    Gone("keras.layers.experimental.preprocessing.PreprocessingLayer",
         "derive from keras.layers.Layer"),
    Gone("keras.utils.experimental.SidecarEvaluator", "evaluate in a program of its own"),
    Gone("keras.utils.SidecarEvaluator", "evaluate in a program of its own"),
    Gone("keras.utils.warmstart_embedding_matrix", "copy the rows with NumPy"),
    Gone("keras.utils.to_ordinal", "write it with NumPy"),
    *(
        Gone(f"keras.applications.{name}", "take the model from tf_keras, or write it")
        for name in ("regnet", "resnet_rs")
    ),
)  # fmt: skip
"""Names that a person must replace."""

_SCALE = "the loss scale of Keras 3 has no minimum (Keras 2: 1)"
_OPTIMIZER = r"keras\.optimizers\.[A-Z]\w*"
_LAYER = r"keras\.layers\.[A-Z]\w*"
_NOT_EMBEDDING = r"keras\.layers\.(?!Embedding$)[A-Z]\w*"
_LIST = "the first dimension of input_shape is the length"
_WORKERS = "threads and processes are arguments of a PyDataset (keras.utils.Sequence) in Keras 3"
_SCALER = r"keras\.(mixed_precision|optimizers)\.(experimental\.)?LossScaleOptimizer"
_POLICY = r"keras\.mixed_precision\.(experimental\.)?Policy"
_FIXED = (
    "a fixed scale is loss_scale_factor of the optimizer itself, with auto_scale_loss=False in "
    "compile; LossScaleOptimizer(optimizer, initial_scale=...) scales dynamically"
)
ARGUMENTS = (
    Argument(_POLICY, "loss_scale", harmless=("dynamic",), hint=_FIXED, note=_SCALE),
    Argument(_SCALER, "loss_scale", harmless=("dynamic",), hint=_FIXED, note=_SCALE),
    Argument(_SCALER, "dynamic", harmless=(True,), hint=_FIXED, note=_SCALE),
    Argument(_SCALER, "initial_scale", harmless=(None,)),
    Argument(_SCALER, "dynamic_growth_steps", harmless=(None,)),
    Argument(_SCALER, "optimizer", "inner_optimizer"),
    Argument(_OPTIMIZER, "lr", "learning_rate"),
    Argument(r"keras\.(models\.)?Model", "input", "inputs"),
    Argument(r"keras\.(models\.)?Model", "output", "outputs"),
    Argument(_OPTIMIZER, "epsilon", harmless=(None,)),  # Keras 2: the default, 1e-7
    Argument(".compile", "experimental_run_tf_function"),
    Argument(".compile", "experimental_steps_per_execution", "steps_per_execution"),
    Argument(".compile", "target_tensors", harmless=(None,), hint="pass the targets to fit"),
    Argument(".compile", "sample_weight_mode", harmless=(None,), hint="pass weights of full shape"),
    *(
        Argument(method, name, note=_WORKERS)
        for method in (".fit", ".evaluate", ".predict")
        for name in ("workers", "max_queue_size", "use_multiprocessing")
    ),
    Argument(".fit", "nb_epoch", "epochs"),
    *(
        Argument(
            method,
            "reset_metrics",
            harmless=(True,),
            hint="Keras 3 begins with each batch again: add the values up yourself",
        )
        for method in (".train_on_batch", ".test_on_batch")
    ),
    Argument(".apply_gradients", "name"),
    Argument(
        ".apply_gradients",
        "experimental_aggregate_gradients",
        harmless=(True,),
        hint="Keras 3 always adds the gradients of all replicas up: divide them before",
    ),
    Argument(".load_weights", "options", harmless=(None,), hint="remove it"),
    Argument(".save_weights", "options", harmless=(None,), hint="remove it"),
    Argument(
        ".save_weights",
        "save_format",
        harmless=(None, "h5"),
        hint="files of weights end in .weights.h5",
    ),
    Argument(".load_weights", "by_name", harmless=(False,)),
    *(
        Argument(call, name, harmless=harmless, hint=hint)
        for call in (".save", r"keras\.models\.save_model")
        for name, harmless, hint in (
            ("signatures", (None,), "write model.export(folder) for a SavedModel"),
            ("options", (None,), "remove it"),
            ("save_traces", (True, False), ""),
        )
    ),
    Argument(r"keras\.models\.load_model", "options", harmless=(None,), hint="remove it"),
    Argument(
        r"keras\.utils\.to_categorical",
        "dtype",
        hint="write to_categorical(...).astype(dtype)",
        harmless=(),
    ),
    Argument(
        _NOT_EMBEDDING, "weights", harmless=(None,), hint="call set_weights of the built layer"
    ),
    Argument(_NOT_EMBEDDING, "input_length", harmless=(None,), hint=_LIST),
    Argument(r"keras\.layers\.BatchNormalization", "fused"),
    Argument(
        r"keras\.layers\.BatchNormalization",
        "virtual_batch_size",
        harmless=(None,),
        hint="Keras 3 normalizes over the whole batch of a replica",
    ),
    Argument(
        r"keras\.layers\.(LSTM|GRU|SimpleRNN|RNN)",
        "time_major",
        harmless=(False,),
        hint="transpose the inputs",
    ),
    Argument(_LAYER, "dynamic", harmless=(False,), hint="compile with run_eagerly=True"),
    Argument(
        r"keras\.callbacks\.ModelCheckpoint",
        "period",
        harmless=(1,),
        hint="write save_freq= with the number of batches",
    ),
    Argument(
        r"keras\.callbacks\.ModelCheckpoint", "options", harmless=(None,), hint="remove options"
    ),
    Argument(r"keras\.callbacks\.TensorBoard", "batch_size"),
    Argument(
        r"keras\.callbacks\.TensorBoard",
        "write_grads",
        note="TensorBoard has written no gradients since TensorFlow 2.0",
    ),
    Argument(r"keras\.callbacks\.ReduceLROnPlateau", "epsilon", "min_delta"),
)
"""Arguments to rename or drop."""

GENERATORS = {
    "fit_generator": (
        "fit",
        ("x", "steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data",
         "validation_steps", "validation_freq", "class_weight", "max_queue_size", "workers",
         "use_multiprocessing", "shuffle", "initial_epoch"),
    ),
    "evaluate_generator": (
        "evaluate",
        ("x", "steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose"),
    ),
    "predict_generator": (
        "predict",
        ("x", "steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose"),
    ),
}  # fmt: skip
"""Old method to the new one and the order of the old arguments."""

DEFAULT_RATES = dict.fromkeys(_OPTIMIZERS, "0.001") | {"SGD": "0.01"}
"""Optimizer to its learning rate, in Keras 2 as in Keras 3."""
