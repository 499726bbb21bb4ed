"""What names of PyTorch mean as neutral layers and operations."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, complement, ignored, must
from crosscast_torch.models.sequences import SEQUENCES

_PLACE = ignored("device", "dtype")
_INPLACE = (Argument("inplace", "inplace", False),)


def _conv(rank: int) -> Reading:
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
            Argument("bias", "bias", True),
            must("padding_mode", "zeros"),
            *_PLACE,
        ),
        {"rank": rank},
    )


def _norm(rank: int | None) -> Reading:
    return Reading(
        "batch_norm",
        (
            Argument("num_features", "features"),
            Argument("eps", "eps", 1e-5),
            Argument("momentum", "keep", 0.1, complement),
            Argument("affine", "affine", True),
            must("track_running_stats", True),
            *_PLACE,
        ),
        {"rank": rank, "axis": 1},
    )


def _max_pool(rank: int) -> Reading:
    return Reading(
        "max_pool",
        (
            Argument("kernel_size", "kernel"),
            Argument("stride", "stride", None),
            Argument("padding", "padding", 0),
            must("dilation", 1),
            must("return_indices", False),
            must("ceil_mode", False),
        ),
        {"rank": rank},
    )


def _max_pool_function(rank: int) -> Reading:
    row = _max_pool(rank)
    by_name = {argument.name: argument for argument in row.arguments}
    order = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
    return Reading("max_pool", tuple(by_name[name] for name in order), row.fixed)


def _avg_pool(rank: int) -> Reading:
    return Reading(
        "avg_pool",
        (
            Argument("kernel_size", "kernel"),
            Argument("stride", "stride", None),
            Argument("padding", "padding", 0),
            must("ceil_mode", False),
            Argument("count_include_pad", "counts_padding", True),
            *((must("divisor_override", None),) if rank > 1 else ()),
        ),
        {"rank": rank},
    )


def _adaptive(kind: str, rank: int) -> Reading:
    return Reading(kind, (Argument("output_size", "size"),), {"rank": rank})


_DIM = Argument("dim", "axis")
_NEW_DIM = Argument("dim", "axis", 0)
_SOFTMAX = (Argument("dim", "axis", None), *ignored("_stacklevel"), must("dtype", None))
_KEEP = Argument("keepdim", "keepdims", False)
_REDUCE = (Argument("dim", "axis", None, others=("axis",)), _KEEP, must("dtype", None))

LAYERS: Mapping[str, Reading] = {
    "Linear": Reading(
        "linear",
        (
            Argument("in_features", "inputs"),
            Argument("out_features", "units"),
            Argument("bias", "bias", True),
            *_PLACE,
        ),
    ),
    **{f"Conv{rank}d": _conv(rank) for rank in (1, 2, 3)},
    "BatchNorm1d": _norm(None),
    "BatchNorm2d": _norm(2),
    "BatchNorm3d": _norm(3),
    "SyncBatchNorm": _norm(None),
    "LayerNorm": Reading(
        "layer_norm",
        (
            Argument("normalized_shape", "shape"),
            Argument("eps", "eps", 1e-5),
            Argument("elementwise_affine", "affine", True),
            Argument("bias", "shift", True),
            *_PLACE,
        ),
        {"bias_needs_weight": True},
    ),
    "Embedding": Reading(
        "embedding",
        (
            Argument("num_embeddings", "count"),
            Argument("embedding_dim", "width"),
            Argument("padding_idx", "padding_index", None),
            must("max_norm", None),
            must("norm_type", 2.0),
            must("scale_grad_by_freq", False),
            must("sparse", False),
        ),
    ),
    "Dropout": Reading("dropout", (Argument("p", "rate", 0.5), *_INPLACE)),
    "Identity": Reading("identity"),
    "Flatten": Reading(
        "flatten", (Argument("start_dim", "start", 1), Argument("end_dim", "end", -1))
    ),
    **{f"MaxPool{rank}d": _max_pool(rank) for rank in (1, 2, 3)},
    **{f"AvgPool{rank}d": _avg_pool(rank) for rank in (1, 2, 3)},
    **{f"AdaptiveAvgPool{rank}d": _adaptive("adaptive_avg", rank) for rank in (1, 2, 3)},
    **{f"AdaptiveMaxPool{rank}d": _adaptive("adaptive_max", rank) for rank in (1, 2, 3)},
    "ReLU": Reading("relu", _INPLACE),
    "ReLU6": Reading("relu6", _INPLACE),
    "LeakyReLU": Reading("leaky_relu", (Argument("negative_slope", "slope", 0.01), *_INPLACE)),
    "ELU": Reading("elu", (Argument("alpha", "alpha", 1.0), *_INPLACE)),
    "SELU": Reading("selu", _INPLACE),
    "GELU": Reading("gelu", (Argument("approximate", "tanh", "none", lambda v: v == "tanh"),)),
    "SiLU": Reading("silu", _INPLACE),
    "Softplus": Reading("softplus", (must("beta", 1.0), must("threshold", 20.0))),
    "Sigmoid": Reading("sigmoid"),
    "Tanh": Reading("tanh"),
    "Softmax": Reading("softmax", (Argument("dim", "axis", None),)),
    "LogSoftmax": Reading("log_softmax", (Argument("dim", "axis", None),)),
    "ZeroPad2d": Reading("zero_pad", (Argument("padding", "pairs"),), {"rank": 2}),
    **SEQUENCES,
}
"""By the name in torch.nn."""

_ACTIVATIONS: Mapping[str, Reading] = {
    "relu": LAYERS["ReLU"],
    "relu_": Reading("relu", fixed={"inplace": True}),
    "relu6": LAYERS["ReLU6"],
    "leaky_relu": LAYERS["LeakyReLU"],
    "elu": LAYERS["ELU"],
    "selu": LAYERS["SELU"],
    "gelu": LAYERS["GELU"],
    "silu": LAYERS["SiLU"],
    "softplus": LAYERS["Softplus"],
    "sigmoid": Reading("sigmoid"),
    "tanh": Reading("tanh"),
    "softmax": Reading("softmax", _SOFTMAX),
    "log_softmax": Reading("log_softmax", _SOFTMAX),
}
_TENSOR: Mapping[str, Reading] = {
    "flatten": Reading(
        "flatten", (Argument("start_dim", "start", 0), Argument("end_dim", "end", -1))
    ),
    "reshape": Reading("reshape", (Argument("shape", "shape"),)),
    "permute": Reading("permute", (Argument("dims", "axes"),)),
    "transpose": Reading("swap", (Argument("dim0", "first"), Argument("dim1", "second"))),
    "unsqueeze": Reading("unsqueeze", (_DIM,)),
    "squeeze": Reading("squeeze", (_DIM,)),
    "mean": Reading("mean", _REDUCE),
    "sum": Reading("sum", _REDUCE),
    "amax": Reading("max", _REDUCE[:2]),
    "add": Reading("add", (must("alpha", 1),), inputs=2),
    "sub": Reading("subtract", (must("alpha", 1),), inputs=2),
    "mul": Reading("multiply", inputs=2),
    "div": Reading("divide", (must("rounding_mode", None),), inputs=2),
    "matmul": Reading("matmul", inputs=2),
    "bmm": Reading("matmul", inputs=2),
    **{
        word: Reading("compare", (Argument("other", "value"),), {"operator": operator})
        for word, operator in (
            *(("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")),
        )
    },
    "logical_not": Reading("not"),
    "logical_and": Reading("and", inputs=2),
    "logical_or": Reading("or", inputs=2),
    "masked_fill": Reading("fill", (Argument("value", "value"),), inputs=2),
    "pow": Reading("power", (Argument("exponent", "exponent"),)),
    "square": Reading("power", fixed={"exponent": 2}),
    "swapaxes": Reading("swap", (Argument("axis0", "first"), Argument("axis1", "second"))),
    "chunk": Reading("pieces", (Argument("chunks", "count"), _NEW_DIM)),
    "split": Reading("pieces", (Argument("split_size_or_sections", "sizes"), _NEW_DIM)),
    "sin": Reading("sin"),
    "cos": Reading("cos"),
    "log": Reading("log"),
    "exp": Reading("exp"),
    "abs": Reading("abs"),
    "sign": Reading("sign"),
    "sqrt": Reading("sqrt"),
}
_JOINS: Mapping[str, Reading] = {
    "cat": Reading("concat", (_NEW_DIM,), inputs=0),
    "concat": Reading("concat", (_NEW_DIM,), inputs=0),
    "stack": Reading("stack", (_NEW_DIM,), inputs=0),
}
METHODS: Mapping[str, Reading] = {
    **{name: _ACTIVATIONS[name] for name in ("relu", "relu_", "sigmoid", "tanh", "softmax")},
    "log_softmax": _ACTIVATIONS["log_softmax"],
    **_TENSOR,
    "view": _TENSOR["reshape"],
    **dict.fromkeys(("contiguous", "float", "clone", "cuda", "to", "bool"), Reading("identity")),
}
"""By the name of the method of a tensor."""
FUNCTIONS: Mapping[str, Reading] = {
    **{f"torch.nn.functional.{name}": row for name, row in _ACTIVATIONS.items()},
    **{f"torch.{name}": _ACTIVATIONS[name] for name in ("relu", "sigmoid", "tanh", "softmax")},
    "torch.log_softmax": _ACTIVATIONS["log_softmax"],
    **{f"torch.{name}": row for name, row in {**_TENSOR, **_JOINS}.items()},
    "torch.where": Reading("choose"),
    **{f"torch.nn.functional.max_pool{n}d": _max_pool_function(n) for n in (1, 2, 3)},
    **{f"torch.nn.functional.avg_pool{n}d": _avg_pool(n) for n in (1, 2, 3)},
    **{
        f"torch.nn.functional.adaptive_avg_pool{n}d": _adaptive("adaptive_avg", n)
        for n in (1, 2, 3)
    },
    "torch.nn.functional.dropout": Reading(
        "dropout",
        (Argument("p", "rate", 0.5), Argument("training", "training", True), *_INPLACE),
    ),
}
"""By qualified name."""
