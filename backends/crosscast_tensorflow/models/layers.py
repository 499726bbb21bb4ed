"""What names of Keras and TensorFlow mean as neutral layers and operations."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, reading
from crosscast_tensorflow.models.sequences import sequences

_NAME = "name?"
_WEIGHTS = (
    "kernel_initializer:weight_initial='glorot_uniform' bias_initializer:bias_initial='zeros' "
    "kernel_regularizer==None bias_regularizer==None activity_regularizer==None "
    "kernel_constraint==None bias_constraint==None"
)
_NO_WIDTH = "name? dtype? seed? input_shape=None trainable==True"
_NAMED = "name? dtype? seed? input_shape=None input_dim=None trainable==True"
"""Keywords of every layer."""
_AXIS = "axis=-1"
_AXES = "axis=None keepdims=False"
_RANKS = (1, 2, 3)


def _pool(kind: str, rank: int) -> Reading:
    sizes = "pool_size:kernel=2 strides:stride=None padding='valid' data_format==None"
    return reading(kind, sizes, _NAMED, rank=rank, counts_padding=False)


def _global(kind: str, rank: int) -> Reading:
    return reading(kind, "data_format==None keepdims=False", _NAMED, rank=rank)


_JOIN = reading("concat", _AXIS, _NAMED, tensors=0)
_SUM = reading("add", _NAMED, tensors=0)
_PRODUCT = reading("multiply", _NAMED, tensors=0)

LAYERS: Mapping[str, Reading] = {
    "Dense": reading(
        "linear",
        *("units activation=None use_bias:bias=True", _WEIGHTS, _NAMED),
        inputs=None,
    ),
    **{
        f"Conv{rank}D": reading(
            "conv",
            "filters kernel_size:kernel strides:stride=1 padding='valid' data_format==None",
            "dilation_rate:dilation=1 groups=1 activation=None use_bias:bias=True",
            *(_WEIGHTS, _NAMED),
            rank=rank,
            inputs=None,
        )
        for rank in _RANKS
    },
    "BatchNormalization": reading(
        "batch_norm",
        *("axis=-1 momentum:keep=0.99 epsilon:eps=1e-3 center==True scale==True",),
        *("beta_initializer=='zeros' gamma_initializer=='ones'", _NAMED),
        rank=None,
        features=None,
        affine=True,
    ),
    "LayerNormalization": reading(
        "layer_norm",
        *("axis==-1 epsilon:eps=1e-3 center:shift=True scale:affine=True", _NAMED),
        shape=None,
    ),
    "Embedding": reading(
        "embedding",
        "input_dim:count output_dim:width embeddings_initializer:weight_initial='uniform'",
        "embeddings_regularizer==None embeddings_constraint==None mask_zero==False input_length?",
        _NO_WIDTH,
        padding_index=None,
    ),
    "Dropout": reading("dropout", "rate noise_shape==None", _NAMED),
    "Flatten": reading("flatten", "data_format==None", _NAMED, start=1, end=-1),
    "Reshape": reading("reshape_rows", "target_shape:shape", _NAMED),
    "Permute": reading("permute_rows", "dims:axes", _NAMED),
    "ZeroPadding2D": reading("zero_pad", "padding:pairs=1", _NAMED, rank=2),
    "Activation": reading("identity", "activation", _NAMED),
    "Rescaling": reading("scale", "scale offset=0.0", _NAMED),
    **{
        f"{name}{rank}D": make(kind, rank)
        for make, kind, *names in (
            (_pool, "max_pool", "MaxPooling", "MaxPool"),
            (_pool, "avg_pool", "AveragePooling", "AvgPool"),
            (_global, "global_avg", "GlobalAveragePooling", "GlobalAvgPool"),
            (_global, "global_max", "GlobalMaxPooling", "GlobalMaxPool"),
        )
        for name in names
        for rank in _RANKS
    },
    "ReLU": reading("relu", "max_value==None negative_slope==0.0 threshold==0.0", _NAMED),
    "LeakyReLU": reading(
        "leaky_relu", Argument("negative_slope", "slope", 0.3, others=("alpha",)), _NAMED
    ),
    "ELU": reading("elu", "alpha=1.0", _NAMED),
    "Softmax": reading("softmax", _AXIS, _NAMED),
    "Add": _SUM,
    "Multiply": _PRODUCT,
    "Concatenate": _JOIN,
    **sequences(_NAMED),
}
"""By the name in keras.layers."""

NAMED_ACTIVATIONS: Mapping[str, Reading] = {
    "relu": reading("relu"),
    "relu6": reading("relu6"),
    "elu": reading("elu", alpha=1.0),
    "selu": reading("selu"),
    "gelu": reading("gelu", tanh=False),
    "silu": reading("silu"),
    "swish": reading("silu"),
    "softplus": reading("softplus"),
    "sigmoid": reading("sigmoid"),
    "tanh": reading("tanh"),
    "softmax": reading("softmax", axis=-1),
    "log_softmax": reading("log_softmax", axis=-1),
    "linear": reading("identity"),
}
"""What `activation` takes."""
_PACKAGES = ("tensorflow", "tensorflow.math", "keras.ops")
_BOTH: Mapping[str, Reading] = {
    **{
        name: reading("compare", "y:value name?", operator=operator)
        for name, operator in (
            *((("equal", "=="), ("not_equal", "!="), ("less", "<"), ("less_equal", "<="))),
            *((("greater", ">"), ("greater_equal", ">="))),
        )
    },
    "logical_not": reading("not", _NAME),
    "logical_and": reading("and", _NAME, tensors=2),
    "logical_or": reading("or", _NAME, tensors=2),
    **{name: reading(name, _NAME) for name in ("sin", "cos", "log", "exp", "sqrt", "abs")},
    "square": reading("power", _NAME, exponent=2),
    "matmul": reading("matmul", "transpose_b==False name?", tensors=2),
    **{name: reading(name, _NAME, tensors=2) for name in ("multiply", "subtract", "divide")},
    "cast": reading("identity", "dtype? name?"),
    "where": reading(
        "choose",
        "condition",
        Argument("x", "kept", others=("x1",)),
        Argument("y", "other", others=("x2",)),
        _NAME,
        tensors=0,
    ),
    "expand_dims": reading("unsqueeze", "axis name?"),
    "squeeze": reading("squeeze", "axis name?"),
    "stack": reading("stack", "axis=0 name?", tensors=0),
}
"""Functions that TensorFlow and keras.ops have under the same names."""
_TENSORFLOW = {
    **{name: NAMED_ACTIVATIONS[name] for name in ("relu", "relu6", "selu", "elu", "silu", "swish")},
    **{name: NAMED_ACTIVATIONS[name] for name in ("softplus", "sigmoid", "tanh")},
    "softmax": reading("softmax", _AXIS, _NAME),
    "log_softmax": reading("log_softmax", _AXIS, _NAME),
}
FUNCTIONS: Mapping[str, Reading] = {
    **{f"{package}.{name}": row for name, row in _BOTH.items() for package in _PACKAGES},
    "tensorflow.transpose": reading("permute", "perm:axes name?"),
    "keras.ops.transpose": reading("permute", "axes"),
    "keras.ops.swapaxes": reading("swap", "axis1:first axis2:second"),
    **{f"tensorflow.reduce_{name}": reading(name, _AXES, _NAME) for name in ("sum", "max")},
    **{f"keras.ops.{name}": reading(name, _AXES, _NAME) for name in ("sum", "max")},
    **{f"tensorflow.nn.{name}": row for name, row in _TENSORFLOW.items()},
    **{f"keras.ops.{name}": row for name, row in _TENSORFLOW.items()},
    **{
        f"keras.activations.{name}": row
        for name, row in NAMED_ACTIVATIONS.items()
        if name not in ("gelu", "softmax", "log_softmax", "elu")
    },
    "keras.activations.gelu": reading("gelu", "approximate:tanh=False"),
    "keras.activations.softmax": reading("softmax", _AXIS),
    "keras.ops.gelu": reading("gelu", "approximate:tanh=True"),
    "tensorflow.nn.gelu": reading("gelu", "approximate:tanh=False", _NAME),
    "keras.layers.add": _SUM,
    "keras.layers.multiply": _PRODUCT,
    "keras.layers.concatenate": _JOIN,
    "tensorflow.concat": reading("concat", "axis", _NAME, tensors=0),
    "keras.ops.concatenate": reading("concat", "axis=0", tensors=0),
    "tensorflow.add": reading("add", _NAME, tensors=2),
    "tensorflow.math.add": reading("add", _NAME, tensors=2),
    "keras.ops.add": reading("add", tensors=2),
    "tensorflow.tanh": NAMED_ACTIVATIONS["tanh"],
    "tensorflow.sigmoid": NAMED_ACTIVATIONS["sigmoid"],
    "tensorflow.math.tanh": NAMED_ACTIVATIONS["tanh"],
    "tensorflow.math.sigmoid": NAMED_ACTIVATIONS["sigmoid"],
    "tensorflow.reshape": reading("reshape", "shape", _NAME),
    "keras.ops.reshape": reading("reshape", "newshape:shape"),
    "tensorflow.reduce_mean": reading("mean", _AXES, _NAME),
    "keras.ops.mean": reading("mean", _AXES),
}
"""By qualified name; `tensorflow.keras` is `keras`."""
