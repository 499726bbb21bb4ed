"""How Keras' models are read and written, for migrations across frameworks."""

from __future__ import annotations

from crosscast_migrate.models.tables import (
    EncoderLibrary,
    FitMethods,
    ModelReading,
    ModelTables,
    PipelineReading,
    ScriptReading,
)
from crosscast_tensorflow.models.initial_values import CLASSES, DEFAULTS, NAMES
from crosscast_tensorflow.models.layers import FUNCTIONS, LAYERS, NAMED_ACTIVATIONS
from crosscast_tensorflow.models.library import LIBRARY
from crosscast_tensorflow.models.sequences import ATTENDS
from crosscast_tensorflow.models.writing import WRITING

MODELS = ModelTables(
    backend="tensorflow",
    title="Keras",
    channels="last",
    initials=DEFAULTS,
    reading=ModelReading(
        package="keras.layers",
        layers=LAYERS,
        functions=FUNCTIONS,
        tensor_names=("x", "y", "tensor", "logits", "features", "input_tensor"),
        list_names=("values", "inputs", "xs"),
        function_packages=frozenset(
            {"tensorflow", "tensorflow.nn", "tensorflow.math", "keras.ops"}
        ),
        attends=ATTENDS,
        means=frozenset(
            {"tensorflow.reduce_mean", "tensorflow.math.reduce_mean", "keras.ops.mean"}
        ),
        row_losses={
            "tensorflow.nn.sparse_softmax_cross_entropy_with_logits": ("cross_entropy", 1.0),
            "tensorflow.nn.sigmoid_cross_entropy_with_logits": ("binary_cross_entropy", 1.0),
            "keras.losses.sparse_categorical_crossentropy": ("cross_entropy", 1.0),
            "keras.losses.binary_crossentropy": ("binary_cross_entropy", 1.0),
            "keras.losses.mean_squared_error": ("mse", 1.0),
            "keras.losses.mse": ("mse", 1.0),
            "keras.losses.mean_absolute_error": ("l1", 1.0),
        },
        differences={
            "tensorflow.square": "mse",
            "tensorflow.math.square": "mse",
            "keras.ops.square": "mse",
            "tensorflow.abs": "l1",
            "tensorflow.math.abs": "l1",
            "keras.ops.abs": "l1",
        },
        labels_first=True,
        pairs_columns=frozenset({"keras"}),
        ranges=frozenset({"tensorflow.range"}),
        shapes=frozenset({"tensorflow.shape", "keras.ops.shape"}),
        sequential=frozenset({"keras.Sequential", "keras.models.Sequential"}),
        forward="call",
        train_selects=False,
        models=frozenset({"keras.Model", "keras.models.Model"}),
        inputs=frozenset({"keras.Input", "keras.layers.Input", "keras.layers.InputLayer"}),
        activations=NAMED_ACTIVATIONS,
        initializers=CLASSES,
        initializer_names=NAMES,
    ),
    writing=WRITING,
    library=LIBRARY,
    encoders=(EncoderLibrary(package="transformers", prefix="TF"),),
    fitting=FitMethods(
        package="keras",
        compiles="compile",
        fits="fit",
        class_weights="class_weight",
        rows=("x", "y"),
        others="validation_data",
        adds="add_loss",
        refused=frozenset(
            {"sample_weight", "validation_split", "steps_per_epoch", "initial_epoch"}
        ),
    ),
    script=ScriptReading(
        arrays={
            "tensorflow.cast": "np.asarray",
            "tensorflow.constant": "np.asarray",
            "tensorflow.convert_to_tensor": "np.asarray",
            "tensorflow.float32": "np.float32",
            "tensorflow.int32": "np.int32",
            "tensorflow.int64": "np.int64",
        },
        class_columns=True,
        pipelines=PipelineReading(
            begins=frozenset({"tensorflow.data.Dataset.from_tensor_slices"}),
            same=frozenset({"prefetch", "with_options"}),
            stores="cache",
            batches="batch",
            shuffles="shuffle",
            buffer="buffer_size",
            reshuffles="reshuffle_each_iteration",
            repeats="repeat",
            maps="map",
        ),
        left_behind={
            "checkpoints": r"keras\.callbacks\.(?:ModelCheckpoint|BackupAndRestore)"
            r"|tensorflow\.train\.(?:Checkpoint|CheckpointManager)"
            r"|keras\.(?:\w+\.)*(?:Model|Sequential)\.save",
            "metrics": r"keras\.metrics\.\w+(?:\.\w+)*",
            "logging": r"tensorflow\.summary\.\w+",
            "schedule by a callback": (
                r"keras\.callbacks\.(?:LearningRateScheduler|ReduceLROnPlateau)"
            ),
            "preparation of the data": r"keras\.preprocessing\.\w+\.\w+|keras\.layers\.Random\w+",
        },
    ),
    spared=frozenset({"batch_norm", "layer_norm"}),
)
