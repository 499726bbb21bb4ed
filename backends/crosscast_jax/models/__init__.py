"""How models of Flax NNX are read and written, for migrations across frameworks."""

from __future__ import annotations

from crosscast_jax.models.initial_values import DEFAULTS, INITIALIZERS, NAMES
from crosscast_jax.models.layers import FUNCTIONS, LAYERS, METHODS
from crosscast_jax.models.sequences import ATTENDS
from crosscast_jax.models.writing import WRITING
from crosscast_migrate.models.tables import ModelReading, ModelTables, ScriptReading

_ROW_LOSSES = {
    "softmax_cross_entropy_with_integer_labels": ("cross_entropy", 1.0),
    "sigmoid_binary_cross_entropy": ("binary_cross_entropy", 1.0),
    "squared_error": ("mse", 1.0),
    "l2_loss": ("mse", 0.5),
    "huber_loss": ("smooth_l1", 1.0),
}
"""Losses of optax, one for every row or number: the kind, and by what that is multiplied."""
MODELS = ModelTables(
    backend="jax",
    title="Flax NNX",
    channels="last",
    initials=DEFAULTS,
    reading=ModelReading(
        package="flax.nnx",
        layers=LAYERS,
        functions=FUNCTIONS,
        methods=METHODS,
        tensor_names=("x", "a", "arr", "inputs", "x1", "x2"),
        list_names=("arrays",),
        function_packages=frozenset({"jax.numpy", "jax.nn", "flax.nnx"}),
        sequential=frozenset({"flax.nnx.Sequential"}),
        lists=frozenset({"flax.nnx.List"}),
        dicts=frozenset({"flax.nnx.Dict"}),
        forward="__call__",
        random_numbers=frozenset({"rngs"}),
        attends=ATTENDS,
        selects=frozenset({"jax.numpy.where"}),
        means=frozenset({"jax.numpy.mean"}),
        row_losses={
            f"{package}.{name}": row
            for package in ("optax", "optax.losses")
            for name, row in _ROW_LOSSES.items()
        },
        differences={"jax.numpy.square": "mse", "jax.numpy.abs": "l1"},
        differentiates=frozenset(
            {"jax.grad", "jax.value_and_grad", "flax.nnx.grad", "flax.nnx.value_and_grad"}
        ),
        initializers=INITIALIZERS,
        initializer_names=NAMES,
    ),
    writing=WRITING,
    script=ScriptReading(
        filters={
            "flax.nnx.Optimizer": (2, "wrt", "flax.nnx.Param"),
            "flax.nnx.ModelAndOptimizer": (2, "wrt", "flax.nnx.Param"),
            "flax.nnx.DiffState": (1, "filter", "flax.nnx.Param"),
        },
        left_behind={
            "pretrained or saved weights": r"(?:flax\.training\.checkpoints|orbax\.checkpoint)"
            r"\.(?:\w+\.)*restore\w*|flax\.serialization\.(?:from_bytes|msgpack_restore)",
            "checkpoints": r"flax\.training\.checkpoints\.save_\w+"
            r"|orbax\.checkpoint\.\w*Checkpoint\w*"
            r"|flax\.serialization\.(?:to_bytes|msgpack_serialize)",
            "metrics": r"flax\.nnx\.(?:MultiMetric|metrics\.\w+)|clu\.metrics\.\w+",
            "logging": r"clu\.metric_writers\.\w+",
            "preparation of the data": r"tensorflow_datasets\.\w+|grain\.(?:\w+\.)*\w+",
        },
    ),
)
