"""What names of Paddle mean as neutral layers and operations."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, reading
from crosscast_paddle.models.sequences import SEQUENCES

_NAME = "name?"
_WEIGHTS = "weight_attr:weight_initial=None bias_attr:bias_initial=None"
_SIZES = "kernel_size:kernel stride=None padding=0"
_FORMATS = {1: "NCL", 2: "NCHW", 3: "NCDHW", None: "NCL"}
_RANKS = (1, 2, 3)
_EXCLUSIVE = Argument("exclusive", "counts_padding", True, lambda value: not value)
_SOFTMAX = "axis=-1 dtype==None name?"
_OUT = "out==None name?"
_REDUCE = "axis=None keepdim:keepdims=False name?"


def _norm(rank: int | None) -> Reading:
    return reading(
        "batch_norm",
        *("num_features:features momentum:keep=0.9 epsilon:eps=1e-5", _WEIGHTS),
        f"data_format=='{_FORMATS[rank]}' use_global_stats==None name?",
        rank=rank,
        axis=1,
        affine=True,
    )


def _max_pool(rank: int) -> Reading:
    more = "data_format=='NCHW'" if rank == 2 else ""
    flags = "return_mask==False ceil_mode==False"
    return reading("max_pool", _SIZES, flags, more, _NAME, rank=rank)


def _avg_pool(rank: int) -> Reading:
    ceil = "ceil_mode==False"
    flags = (ceil, _EXCLUSIVE) if rank > 1 else (_EXCLUSIVE, ceil)
    more = "divisor_override==None data_format=='NCHW'" if rank == 2 else ""
    return reading("avg_pool", _SIZES, *flags, more, _NAME, rank=rank)


def _adaptive(kind: str, rank: int) -> Reading:
    formats = "data_format=='NCHW'" if rank == 2 and kind == "adaptive_avg" else ""
    return reading(kind, "output_size:size", formats, _NAME, rank=rank)


LAYERS: Mapping[str, Reading] = {
    "Linear": reading("linear", "in_features:inputs out_features:units", _WEIGHTS, _NAME),
    **{
        f"Conv{rank}D": reading(
            "conv",
            "in_channels:inputs out_channels:filters kernel_size:kernel stride=1 padding=0",
            "dilation=1 groups=1 padding_mode=='zeros'",
            *(_WEIGHTS, f"data_format=='{_FORMATS[rank]}'"),
            rank=rank,
        )
        for rank in _RANKS
    },
    "BatchNorm1D": _norm(None),
    "BatchNorm2D": _norm(2),
    "BatchNorm3D": _norm(3),
    "LayerNorm": reading(
        "layer_norm",
        *("normalized_shape:shape epsilon:eps=1e-5", _WEIGHTS, _NAME),
        affine=True,
        shift=True,
    ),
    "Embedding": reading(
        "embedding",
        "num_embeddings:count embedding_dim:width padding_idx:padding_index=None sparse==False",
        "weight_attr:weight_initial=None name?",
    ),
    "Dropout": reading("dropout", "p:rate=0.5 axis==None mode=='upscale_in_train' name?"),
    "Identity": reading("identity"),
    "Flatten": reading("flatten", "start_axis:start=1 stop_axis:end=-1"),
    **{f"MaxPool{rank}D": _max_pool(rank) for rank in _RANKS},
    **{f"AvgPool{rank}D": _avg_pool(rank) for rank in _RANKS},
    **{f"AdaptiveAvgPool{rank}D": _adaptive("adaptive_avg", rank) for rank in _RANKS},
    **{f"AdaptiveMaxPool{rank}D": _adaptive("adaptive_max", rank) for rank in _RANKS},
    "ReLU": reading("relu", _NAME),
    "ReLU6": reading("relu6", _NAME),
    "LeakyReLU": reading("leaky_relu", "negative_slope:slope=0.01 name?"),
    "ELU": reading("elu", "alpha=1.0 name?"),
    "GELU": reading("gelu", "approximate:tanh=False name?"),
    "SELU": reading("selu", "scale==1.0507009873554805 name?"),
    "Silu": reading("silu", _NAME),
    "Swish": reading("silu", _NAME),
    "Softplus": reading("softplus", "beta==1 threshold==20 name?"),
    "Sigmoid": reading("sigmoid", _NAME),
    "Tanh": reading("tanh", _NAME),
    "Softmax": reading("softmax", "axis=-1 name?"),
    "LogSoftmax": reading("log_softmax", "axis=-1 name?"),
    **SEQUENCES,
}
"""By the name in paddle.nn."""

_ACTIVATIONS: Mapping[str, Reading] = {
    "relu": LAYERS["ReLU"],
    "relu6": LAYERS["ReLU6"],
    "leaky_relu": LAYERS["LeakyReLU"],
    "elu": LAYERS["ELU"],
    "gelu": LAYERS["GELU"],
    "silu": LAYERS["Silu"],
    "swish": LAYERS["Swish"],
    "sigmoid": LAYERS["Sigmoid"],
    "tanh": LAYERS["Tanh"],
    "softmax": reading("softmax", _SOFTMAX),
    "log_softmax": reading("log_softmax", _SOFTMAX),
}
_TENSOR: Mapping[str, Reading] = {
    "flatten": reading("flatten", "start_axis:start=0 stop_axis:end=-1 name?"),
    "reshape": reading("reshape", "shape name?"),
    "transpose": reading("permute", "perm:axes name?"),
    "unsqueeze": reading("unsqueeze", "axis name?"),
    "squeeze": reading("squeeze", "axis name?"),
    "mean": reading("mean", _REDUCE),
    "sum": reading("sum", "axis=None dtype==None keepdim:keepdims=False name?"),
    "amax": reading("max", _REDUCE),
    **{name: reading(name, _NAME, tensors=2) for name in ("add", "subtract", "multiply", "divide")},
    "matmul": reading("matmul", "transpose_x==False transpose_y==False name?", tensors=2),
    **{
        name: reading("compare", "y:value name?", operator=operator)
        for name, operator in (
            *((("equal", "=="), ("not_equal", "!="), ("less_than", "<"), ("less_equal", "<="))),
            *((("greater_than", ">"), ("greater_equal", ">="))),
        )
    },
    "logical_not": reading("not", _OUT),
    "logical_and": reading("and", _OUT, tensors=2),
    "logical_or": reading("or", _OUT, tensors=2),
    "masked_fill": reading("fill", "value name?", tensors=2),
    "pow": reading("power", "y:exponent name?"),
    "square": reading("power", _NAME, exponent=2),
    "swapaxes": reading("swap", "axis0:first axis1:second"),
    "chunk": reading("pieces", "chunks:count axis=0 name?"),
    **{name: reading(name, _NAME) for name in ("sin", "cos", "log", "exp", "abs", "sign", "sqrt")},
    "tanh": LAYERS["Tanh"],
}
_JOINS: Mapping[str, Reading] = {
    "concat": reading("concat", "axis=0 name?", tensors=0),
    "stack": reading("stack", "axis=0 name?", tensors=0),
}
METHODS: Mapping[str, Reading] = {
    **_TENSOR,
    **dict.fromkeys(("clone", "astype", "cast", "contiguous"), reading("identity")),
}
"""By the name of the method of a tensor."""
_FUNCTIONAL: Mapping[str, Reading] = {
    **_ACTIVATIONS,
    **{f"max_pool{rank}d": _max_pool(rank) for rank in _RANKS},
    **{f"avg_pool{rank}d": _avg_pool(rank) for rank in _RANKS},
    **{f"adaptive_avg_pool{rank}d": _adaptive("adaptive_avg", rank) for rank in _RANKS},
    "dropout": reading(
        "dropout", "p:rate=0.5 axis==None training=True mode=='upscale_in_train' name?"
    ),
}
FUNCTIONS: Mapping[str, Reading] = {
    **{f"paddle.nn.functional.{name}": row for name, row in _FUNCTIONAL.items()},
    **{f"paddle.{name}": row for name, row in {**_TENSOR, **_JOINS}.items()},
    "paddle.where": reading("choose", "condition x:kept y:other name?", tensors=0),
}
"""By qualified name."""
