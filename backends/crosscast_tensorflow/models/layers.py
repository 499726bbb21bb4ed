"""What names of Keras and TensorFlow mean as neutral layers and operations."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, ignored, must
from crosscast_tensorflow.models.sequences import sequences

_WEIGHTS = (
    Argument("kernel_initializer", "weight_initial", "glorot_uniform"),
    Argument("bias_initializer", "bias_initial", "zeros"),
    must("kernel_regularizer", None),
    must("bias_regularizer", None),
    must("activity_regularizer", None),
    must("kernel_constraint", None),
    must("bias_constraint", None),
)
_ACTIVATION = Argument("activation", "activation", None)
_NAMED = (
    *ignored("name", "dtype", "seed"),
    Argument("input_shape", "input_shape", None),
    Argument("input_dim", "input_dim", None),
    Argument("trainable", "", True),
)
"""Keywords of every layer."""


def _conv(rank: int) -> Reading:
    return Reading(
        "conv",
        (
            Argument("filters", "filters"),
            Argument("kernel_size", "kernel"),
            Argument("strides", "stride", 1),
            Argument("padding", "padding", "valid"),
            Argument("data_format", "", None),
            Argument("dilation_rate", "dilation", 1),
            Argument("groups", "groups", 1),
            _ACTIVATION,
            Argument("use_bias", "bias", True),
            *_WEIGHTS,
            *_NAMED,
        ),
        {"rank": rank, "inputs": None},
    )


def _pool(kind: str, rank: int) -> Reading:
    return Reading(
        kind,
        (
            Argument("pool_size", "kernel", 2),
            Argument("strides", "stride", None),
            Argument("padding", "padding", "valid"),
            must("data_format", None),
            *_NAMED,
        ),
        {"rank": rank, "counts_padding": False},
    )


def _global(kind: str, rank: int) -> Reading:
    return Reading(
        kind,
        (must("data_format", None), Argument("keepdims", "keepdims", False), *_NAMED),
        {"rank": rank},
    )


_JOIN = Reading("concat", (Argument("axis", "axis", -1), *_NAMED), inputs=0)
_SUM = Reading("add", _NAMED, inputs=0)
_PRODUCT = Reading("multiply", _NAMED, inputs=0)
_SOFTMAX = Reading("softmax", (Argument("axis", "axis", -1), *_NAMED))

LAYERS: Mapping[str, Reading] = {
    "Dense": Reading(
        "linear",
        (
            Argument("units", "units"),
            _ACTIVATION,
            Argument("use_bias", "bias", True),
            *_WEIGHTS,
            *_NAMED,
        ),
        {"inputs": None},
    ),
    **{f"Conv{rank}D": _conv(rank) for rank in (1, 2, 3)},
    "BatchNormalization": Reading(
        "batch_norm",
        (
            Argument("axis", "axis", -1),
            Argument("momentum", "keep", 0.99),
            Argument("epsilon", "eps", 1e-3),
            must("center", True),
            must("scale", True),
            must("beta_initializer", "zeros"),
            must("gamma_initializer", "ones"),
            *_NAMED,
        ),
        {"rank": None, "features": None, "affine": True},
    ),
    "LayerNormalization": Reading(
        "layer_norm",
        (
            must("axis", -1),
            Argument("epsilon", "eps", 1e-3),
            Argument("center", "shift", True),
            Argument("scale", "affine", True),
            *_NAMED,
        ),
        {"shape": None},
    ),
    "Embedding": Reading(
        "embedding",
        (
            Argument("input_dim", "count"),
            Argument("output_dim", "width"),
            Argument("embeddings_initializer", "weight_initial", "uniform"),
            must("embeddings_regularizer", None),
            must("embeddings_constraint", None),
            must("mask_zero", False),
            Argument("input_length", "_", None),
            *(argument for argument in _NAMED if argument.name != "input_dim"),
        ),
        {"padding_index": None},
    ),
    "Dropout": Reading("dropout", (Argument("rate", "rate"), must("noise_shape", None), *_NAMED)),
    "Flatten": Reading("flatten", (must("data_format", None), *_NAMED), {"start": 1, "end": -1}),
    "Reshape": Reading("reshape_rows", (Argument("target_shape", "shape"), *_NAMED)),
    "Permute": Reading("permute_rows", (Argument("dims", "axes"), *_NAMED)),
    "ZeroPadding2D": Reading("zero_pad", (Argument("padding", "pairs", 1), *_NAMED), {"rank": 2}),
    "Activation": Reading("identity", (Argument("activation", "activation"), *_NAMED)),
    "Rescaling": Reading(
        "scale", (Argument("scale", "scale"), Argument("offset", "offset", 0.0), *_NAMED)
    ),
    **{f"MaxPooling{rank}D": _pool("max_pool", rank) for rank in (1, 2, 3)},
    **{f"MaxPool{rank}D": _pool("max_pool", rank) for rank in (1, 2, 3)},
    **{f"AveragePooling{rank}D": _pool("avg_pool", rank) for rank in (1, 2, 3)},
    **{f"AvgPool{rank}D": _pool("avg_pool", rank) for rank in (1, 2, 3)},
    **{f"GlobalAveragePooling{rank}D": _global("global_avg", rank) for rank in (1, 2, 3)},
    **{f"GlobalAvgPool{rank}D": _global("global_avg", rank) for rank in (1, 2, 3)},
    **{f"GlobalMaxPooling{rank}D": _global("global_max", rank) for rank in (1, 2, 3)},
    **{f"GlobalMaxPool{rank}D": _global("global_max", rank) for rank in (1, 2, 3)},
    "ReLU": Reading(
        "relu",
        (
            must("max_value", None),
            must("negative_slope", 0.0),
            must("threshold", 0.0),
            *_NAMED,
        ),
    ),
    "LeakyReLU": Reading(
        "leaky_relu", (Argument("negative_slope", "slope", 0.3, others=("alpha",)), *_NAMED)
    ),
    "ELU": Reading("elu", (Argument("alpha", "alpha", 1.0), *_NAMED)),
    "Softmax": _SOFTMAX,
    "Add": _SUM,
    "Multiply": _PRODUCT,
    "Concatenate": _JOIN,
    **sequences(_NAMED),
}
"""By the name in keras.layers."""

NAMED_ACTIVATIONS: Mapping[str, Reading] = {
    "relu": Reading("relu"),
    "relu6": Reading("relu6"),
    "elu": Reading("elu", fixed={"alpha": 1.0}),
    "selu": Reading("selu"),
    "gelu": Reading("gelu", fixed={"tanh": False}),
    "silu": Reading("silu"),
    "swish": Reading("silu"),
    "softplus": Reading("softplus"),
    "sigmoid": Reading("sigmoid"),
    "tanh": Reading("tanh"),
    "softmax": Reading("softmax", fixed={"axis": -1}),
    "log_softmax": Reading("log_softmax", fixed={"axis": -1}),
    "linear": Reading("identity"),
}
"""What `activation` takes."""
_PACKAGES = ("tensorflow", "tensorflow.math", "keras.ops")
_REDUCE = (
    Argument("axis", "axis", None),
    Argument("keepdims", "keepdims", False),
    *ignored("name"),
)
_BOTH: Mapping[str, Reading] = {
    **{
        word: Reading("compare", (Argument("y", "value"), *ignored("name")), {"operator": operator})
        for word, operator in (
            *(("equal", "=="), ("not_equal", "!="), ("less", "<"), ("less_equal", "<=")),
            *(("greater", ">"), ("greater_equal", ">=")),
        )
    },
    "logical_not": Reading("not", ignored("name")),
    "logical_and": Reading("and", ignored("name"), inputs=2),
    "logical_or": Reading("or", ignored("name"), inputs=2),
    **{
        name: Reading(name, ignored("name")) for name in ("sin", "cos", "log", "exp", "sqrt", "abs")
    },
    "square": Reading("power", ignored("name"), {"exponent": 2}),
    "matmul": Reading("matmul", (must("transpose_b", False), *ignored("name")), inputs=2),
    "multiply": Reading("multiply", ignored("name"), inputs=2),
    "subtract": Reading("subtract", ignored("name"), inputs=2),
    "divide": Reading("divide", ignored("name"), inputs=2),
    "cast": Reading("identity", ignored("dtype", "name")),
    "where": Reading("choose"),
    "expand_dims": Reading("unsqueeze", (Argument("axis", "axis"), *ignored("name"))),
    "squeeze": Reading("squeeze", (Argument("axis", "axis"), *ignored("name"))),
    "stack": Reading("stack", (Argument("axis", "axis", 0), *ignored("name")), inputs=0),
}
"""Functions that TensorFlow and keras.ops have under the same names."""
_TENSORFLOW = {
    **{name: NAMED_ACTIVATIONS[name] for name in ("relu", "relu6", "selu", "elu", "silu", "swish")},
    **{name: NAMED_ACTIVATIONS[name] for name in ("softplus", "sigmoid", "tanh")},
    "softmax": Reading("softmax", (Argument("axis", "axis", -1), *ignored("name"))),
    "log_softmax": Reading("log_softmax", (Argument("axis", "axis", -1), *ignored("name"))),
}
FUNCTIONS: Mapping[str, Reading] = {
    **{f"{package}.{name}": row for name, row in _BOTH.items() for package in _PACKAGES},
    "tensorflow.transpose": Reading("permute", (Argument("perm", "axes"), *ignored("name"))),
    "keras.ops.transpose": Reading("permute", (Argument("axes", "axes"),)),
    "keras.ops.swapaxes": Reading(
        "swap", (Argument("axis1", "first"), Argument("axis2", "second"))
    ),
    "tensorflow.reduce_sum": Reading("sum", _REDUCE),
    "tensorflow.reduce_max": Reading("max", _REDUCE),
    "keras.ops.sum": Reading("sum", _REDUCE),
    "keras.ops.max": Reading("max", _REDUCE),
    **{f"tensorflow.nn.{name}": row for name, row in _TENSORFLOW.items()},
    **{f"keras.ops.{name}": row for name, row in _TENSORFLOW.items()},
    **{
        f"keras.activations.{name}": row
        for name, row in NAMED_ACTIVATIONS.items()
        if name not in ("gelu", "softmax", "log_softmax", "elu")
    },
    "keras.activations.gelu": Reading("gelu", (Argument("approximate", "tanh", False),)),
    "keras.activations.softmax": Reading("softmax", (Argument("axis", "axis", -1),)),
    "keras.ops.gelu": Reading("gelu", (Argument("approximate", "tanh", True),)),
    "tensorflow.nn.gelu": Reading(
        "gelu", (Argument("approximate", "tanh", False), *ignored("name"))
    ),
    "keras.layers.add": Reading("add", _NAMED, inputs=0),
    "keras.layers.multiply": Reading("multiply", _NAMED, inputs=0),
    "keras.layers.concatenate": _JOIN,
    "tensorflow.concat": Reading("concat", (Argument("axis", "axis"), *ignored("name")), inputs=0),
    "keras.ops.concatenate": Reading("concat", (Argument("axis", "axis", 0),), inputs=0),
    "tensorflow.add": Reading("add", ignored("name"), inputs=2),
    "tensorflow.math.add": Reading("add", ignored("name"), inputs=2),
    "keras.ops.add": Reading("add", inputs=2),
    "tensorflow.tanh": NAMED_ACTIVATIONS["tanh"],
    "tensorflow.sigmoid": NAMED_ACTIVATIONS["sigmoid"],
    "tensorflow.math.tanh": NAMED_ACTIVATIONS["tanh"],
    "tensorflow.math.sigmoid": NAMED_ACTIVATIONS["sigmoid"],
    "tensorflow.reshape": Reading("reshape", (Argument("shape", "shape"), *ignored("name"))),
    "keras.ops.reshape": Reading("reshape", (Argument("newshape", "shape"),)),
    "tensorflow.reduce_mean": Reading(
        "mean",
        (
            Argument("axis", "axis", None),
            Argument("keepdims", "keepdims", False),
            *ignored("name"),
        ),
    ),
    "keras.ops.mean": Reading(
        "mean", (Argument("axis", "axis", None), Argument("keepdims", "keepdims", False))
    ),
}
"""By qualified name; `tensorflow.keras` is `keras`."""
