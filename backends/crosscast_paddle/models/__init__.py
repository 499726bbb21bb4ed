"""How Paddle's models are read and written, for migrations across frameworks."""

from __future__ import annotations

from crosscast_migrate.models.tables import (
    EncoderLibrary,
    FitMethods,
    ModelReading,
    ModelTables,
    ScriptReading,
)
from crosscast_paddle.models.initial_values import CLASSES, DEFAULTS, FILLS
from crosscast_paddle.models.layers import FUNCTIONS, LAYERS, METHODS
from crosscast_paddle.models.library import LIBRARY
from crosscast_paddle.models.sequences import ACTIVATIONS, ATTENDS
from crosscast_paddle.models.writing import WRITING

_SEGMENTS = frozenset({"type_vocab_size"})
"""Other releases have other numbers of segments."""
MODELS = ModelTables(
    backend="paddle",
    title="Paddle",
    channels="first",
    initials=DEFAULTS,
    reading=ModelReading(
        package="paddle.nn",
        layers=LAYERS,
        functions=FUNCTIONS,
        methods=METHODS,
        tensor_names=("input", "x", "y", "other"),
        list_names=("x", "tensors"),
        function_packages=frozenset({"paddle", "paddle.nn.functional", "paddle.fluid.layers"}),
        means=frozenset({"paddle.mean"}),
        differences={"paddle.square": "mse", "paddle.abs": "l1"},
        sequential=frozenset({"paddle.nn.Sequential"}),
        lists=frozenset({"paddle.nn.LayerList"}),
        dicts=frozenset({"paddle.nn.LayerDict"}),
        wrappers=frozenset(
            {
                "paddle.DataParallel",
                "paddle.Model",
                "paddle.jit.to_static",
                "paddle.nn.SyncBatchNorm.convert_sync_batchnorm",
                "paddle.distributed.fleet.distributed_model",
            }
        ),
        attends=ATTENDS,
        activations=ACTIVATIONS,
        pairs=frozenset({"paddle.amp.decorate"}),
        initializers=CLASSES,
        fills=FILLS,
        weight_options={
            "paddle.ParamAttr": frozenset(
                {"learning_rate", "regularizer", "trainable", "need_clip"}
            )
        },
    ),
    writing=WRITING,
    library=LIBRARY,
    encoders=(
        EncoderLibrary(package="paddlenlp.transformers", stated=_SEGMENTS),
        EncoderLibrary(package="paddleformers.transformers", stated=_SEGMENTS),
    ),
    fitting=FitMethods(
        package="paddle",
        compiles="prepare",
        fits="fit",
        rows=("train_data",),
        others="eval_data",
        refused=frozenset({"num_iters"}),
    ),
    script=ScriptReading(
        loaders=("paddle.io.DataLoader",),
        row_classes=("paddle.io.Dataset",),
        array_sets=("paddle.io.TensorDataset",),
        arrays={
            "paddle.to_tensor": "np.asarray",
            "paddle.float32": "np.float32",
            "paddle.int64": "np.int64",
        },
        class_columns=True,
        optimizers="paddle.optimizer",
        loads=frozenset({"paddle.load"}),
        left_behind={
            "pretrained or saved weights": r"paddle\.load|paddle\.hub\.\w+",
            "checkpoints": r"paddle\.save|paddle\.callbacks\.ModelCheckpoint|paddle\.Model\.save",
            "evaluation": r"paddle\.no_grad",
            "metrics": r"paddle\.metric\.\w+(?:\.\w+)*",
            "schedule by a callback": r"paddle\.optimizer\.lr\.ReduceOnPlateau",
            "preparation of the data": r"paddle\.vision\.transforms\.(?:\w+\.)*\w+",
            "sampling of rows": r"paddle\.io\.(?:\w+\.)*(?:WeightedRandomSampler"
            r"|SubsetRandomSampler|random_split|Subset)",
        },
        results=("paddle.nn.functional", "paddle.fluid.layers"),
    ),
)
