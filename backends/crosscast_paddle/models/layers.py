"""What names of Paddle mean as neutral layers and operations."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, ignored, must
from crosscast_paddle.models.sequences import SEQUENCES

_NAME = ignored("name")
_WEIGHTS = (
    Argument("weight_attr", "weight_initial", None),
    Argument("bias_attr", "bias_initial", None),
)


def _conv(rank: int) -> Reading:
    channels = {1: "NCL", 2: "NCHW", 3: "NCDHW"}[rank]
    return Reading(
        "conv",
        (
            Argument("in_channels", "inputs"),
            Argument("out_channels", "filters"),
            Argument("kernel_size", "kernel"),
            Argument("stride", "stride", 1),
            Argument("padding", "padding", 0),
            Argument("dilation", "dilation", 1),
            Argument("groups", "groups", 1),
            must("padding_mode", "zeros"),
            *_WEIGHTS,
            must("data_format", channels),
        ),
        {"rank": rank},
    )


def _norm(rank: int | None) -> Reading:
    return Reading(
        "batch_norm",
        (
            Argument("num_features", "features"),
            Argument("momentum", "keep", 0.9),
            Argument("epsilon", "eps", 1e-5),
            *_WEIGHTS,
            must("data_format", {1: "NCL", 2: "NCHW", 3: "NCDHW", None: "NCL"}[rank]),
            must("use_global_stats", None),
            *_NAME,
        ),
        {"rank": rank, "axis": 1, "affine": True},
    )


def _max_pool(rank: int) -> Reading:
    return Reading(
        "max_pool",
        (
            Argument("kernel_size", "kernel"),
            Argument("stride", "stride", None),
            Argument("padding", "padding", 0),
            must("return_mask", False),
            must("ceil_mode", False),
            *((must("data_format", "NCHW"),) if rank == 2 else ()),
            *_NAME,
        ),
        {"rank": rank},
    )


def _avg_pool(rank: int) -> Reading:
    return Reading(
        "avg_pool",
        (
            Argument("kernel_size", "kernel"),
            Argument("stride", "stride", None),
            Argument("padding", "padding", 0),
            *(
                (must("ceil_mode", False), Argument("exclusive", "counts_padding", True, _not))
                if rank > 1
                else (Argument("exclusive", "counts_padding", True, _not), must("ceil_mode", False))
            ),
            *((must("divisor_override", None), must("data_format", "NCHW")) if rank == 2 else ()),
            *_NAME,
        ),
        {"rank": rank},
    )


def _not(value: bool) -> bool:
    return not value


def _adaptive(kind: str, rank: int) -> Reading:
    formats = (must("data_format", "NCHW"),) if rank == 2 and kind == "adaptive_avg" else ()
    return Reading(kind, (Argument("output_size", "size"), *formats, *_NAME), {"rank": rank})


_AXIS = Argument("axis", "axis", -1)
_SOFTMAX = (_AXIS, must("dtype", None), *_NAME)
_REDUCE = (Argument("axis", "axis", None), Argument("keepdim", "keepdims", False), *_NAME)
_FLATTEN = (Argument("start_axis", "start", 1), Argument("stop_axis", "end", -1))

LAYERS: Mapping[str, Reading] = {
    "Linear": Reading(
        "linear",
        (
            Argument("in_features", "inputs"),
            Argument("out_features", "units"),
            *_WEIGHTS,
            *_NAME,
        ),
    ),
    **{f"Conv{rank}D": _conv(rank) for rank in (1, 2, 3)},
    "BatchNorm1D": _norm(None),
    "BatchNorm2D": _norm(2),
    "BatchNorm3D": _norm(3),
    "LayerNorm": Reading(
        "layer_norm",
        (
            Argument("normalized_shape", "shape"),
            Argument("epsilon", "eps", 1e-5),
            *_WEIGHTS,
            *_NAME,
        ),
        {"affine": True, "shift": True},
    ),
    "Embedding": Reading(
        "embedding",
        (
            Argument("num_embeddings", "count"),
            Argument("embedding_dim", "width"),
            Argument("padding_idx", "padding_index", None),
            must("sparse", False),
            Argument("weight_attr", "weight_initial", None),
            *_NAME,
        ),
    ),
    "Dropout": Reading(
        "dropout",
        (
            Argument("p", "rate", 0.5),
            must("axis", None),
            must("mode", "upscale_in_train"),
            *_NAME,
        ),
    ),
    "Identity": Reading("identity"),
    "Flatten": Reading("flatten", _FLATTEN),
    **{f"MaxPool{rank}D": _max_pool(rank) for rank in (1, 2, 3)},
    **{f"AvgPool{rank}D": _avg_pool(rank) for rank in (1, 2, 3)},
    **{f"AdaptiveAvgPool{rank}D": _adaptive("adaptive_avg", rank) for rank in (1, 2, 3)},
    **{f"AdaptiveMaxPool{rank}D": _adaptive("adaptive_max", rank) for rank in (1, 2, 3)},
    "ReLU": Reading("relu", _NAME),
    "ReLU6": Reading("relu6", _NAME),
    "LeakyReLU": Reading("leaky_relu", (Argument("negative_slope", "slope", 0.01), *_NAME)),
    "ELU": Reading("elu", (Argument("alpha", "alpha", 1.0), *_NAME)),
    "GELU": Reading("gelu", (Argument("approximate", "tanh", False), *_NAME)),
    "SELU": Reading("selu", (must("scale", 1.0507009873554805), *_NAME)),
    "Silu": Reading("silu", _NAME),
    "Swish": Reading("silu", _NAME),
    "Softplus": Reading("softplus", (must("beta", 1), must("threshold", 20), *_NAME)),
    "Sigmoid": Reading("sigmoid", _NAME),
    "Tanh": Reading("tanh", _NAME),
    "Softmax": Reading("softmax", (_AXIS, *_NAME)),
    "LogSoftmax": Reading("log_softmax", (_AXIS, *_NAME)),
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
    "softmax": Reading("softmax", _SOFTMAX),
    "log_softmax": Reading("log_softmax", _SOFTMAX),
}
_TENSOR: Mapping[str, Reading] = {
    "flatten": Reading(
        "flatten", (Argument("start_axis", "start", 0), Argument("stop_axis", "end", -1), *_NAME)
    ),
    "reshape": Reading("reshape", (Argument("shape", "shape"), *_NAME)),
    "transpose": Reading("permute", (Argument("perm", "axes"), *_NAME)),
    "unsqueeze": Reading("unsqueeze", (Argument("axis", "axis"), *_NAME)),
    "squeeze": Reading("squeeze", (Argument("axis", "axis"), *_NAME)),
    "mean": Reading("mean", _REDUCE),
    "sum": Reading("sum", (_REDUCE[0], must("dtype", None), *_REDUCE[1:])),
    "amax": Reading("max", _REDUCE),
    **{
        name: Reading(kind, _NAME, inputs=2)
        for name, kind in (
            ("add", "add"),
            ("subtract", "subtract"),
            ("multiply", "multiply"),
            ("divide", "divide"),
        )
    },
    "matmul": Reading(
        "matmul", (must("transpose_x", False), must("transpose_y", False), *_NAME), inputs=2
    ),
    **{
        word: Reading("compare", (Argument("y", "value"), *_NAME), {"operator": operator})
        for word, operator in (
            *(("equal", "=="), ("not_equal", "!="), ("less_than", "<"), ("less_equal", "<=")),
            *(("greater_than", ">"), ("greater_equal", ">=")),
        )
    },
    "logical_not": Reading("not", (must("out", None), *_NAME)),
    "logical_and": Reading("and", (must("out", None), *_NAME), inputs=2),
    "logical_or": Reading("or", (must("out", None), *_NAME), inputs=2),
    "masked_fill": Reading("fill", (Argument("value", "value"), *_NAME), inputs=2),
    "pow": Reading("power", (Argument("y", "exponent"), *_NAME)),
    "square": Reading("power", _NAME, {"exponent": 2}),
    "swapaxes": Reading("swap", (Argument("axis0", "first"), Argument("axis1", "second"))),
    "chunk": Reading("pieces", (Argument("chunks", "count"), Argument("axis", "axis", 0), *_NAME)),
    "sin": Reading("sin", _NAME),
    "cos": Reading("cos", _NAME),
    "log": Reading("log", _NAME),
    "exp": Reading("exp", _NAME),
    "abs": Reading("abs", _NAME),
    "sign": Reading("sign", _NAME),
    "sqrt": Reading("sqrt", _NAME),
    "tanh": LAYERS["Tanh"],
}
_JOINS: Mapping[str, Reading] = {
    "concat": Reading("concat", (Argument("axis", "axis", 0), *_NAME), inputs=0),
    "stack": Reading("stack", (Argument("axis", "axis", 0), *_NAME), inputs=0),
}
METHODS: Mapping[str, Reading] = {
    **_TENSOR,
    **dict.fromkeys(("clone", "astype", "cast", "contiguous"), Reading("identity")),
}
"""By the name of the method of a tensor."""
FUNCTIONS: Mapping[str, Reading] = {
    **{f"paddle.nn.functional.{name}": row for name, row in _ACTIVATIONS.items()},
    **{f"paddle.{name}": row for name, row in {**_TENSOR, **_JOINS}.items()},
    "paddle.where": Reading("choose"),
    **{f"paddle.nn.functional.max_pool{n}d": _max_pool(n) for n in (1, 2, 3)},
    **{f"paddle.nn.functional.avg_pool{n}d": _avg_pool(n) for n in (1, 2, 3)},
    **{
        f"paddle.nn.functional.adaptive_avg_pool{n}d": _adaptive("adaptive_avg", n)
        for n in (1, 2, 3)
    },
    "paddle.nn.functional.dropout": Reading(
        "dropout",
        (
            Argument("p", "rate", 0.5),
            must("axis", None),
            Argument("training", "training", True),
            must("mode", "upscale_in_train"),
            *_NAME,
        ),
    ),
}
"""By qualified name."""
