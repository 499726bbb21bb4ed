"""What names of PyTorch mean as neutral layers and operations."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, complement, reading
from crosscast_torch.models.sequences import SEQUENCES

_PLACE = "device? dtype?"
_INPLACE = "inplace=False"
_KEEP_SHARE = Argument("momentum", "keep", 0.1, complement)
_SIZES = "kernel_size:kernel stride=None padding=0"
_TANH = Argument("approximate", "tanh", "none", lambda v: v == "tanh")
_NEW_DIM = "dim:axis=0"
_SOFTMAX = "dim:axis=None _stacklevel? dtype==None"
_AXES = (Argument("dim", "axis", None, others=("axis",)), "keepdim:keepdims=False")
_RANKS = (1, 2, 3)


def _norm(rank: int | None) -> Reading:
    return reading(
        "batch_norm",
        *("num_features:features eps=1e-5", _KEEP_SHARE, "affine=True track_running_stats==True"),
        _PLACE,
        rank=rank,
        axis=1,
    )


def _avg_pool(rank: int) -> Reading:
    more = "divisor_override==None" if rank > 1 else ""
    counts = "ceil_mode==False count_include_pad:counts_padding=True"
    return reading("avg_pool", _SIZES, counts, more, rank=rank)


def _adaptive(kind: str, rank: int) -> Reading:
    return reading(kind, "output_size:size", rank=rank)


LAYERS: Mapping[str, Reading] = {
    "Linear": reading("linear", "in_features:inputs out_features:units bias=True", _PLACE),
    **{
        f"Conv{rank}d": reading(
            "conv",
            "in_channels:inputs out_channels:filters kernel_size:kernel stride=1 padding=0",
            "dilation=1 groups=1 bias=True padding_mode=='zeros'",
            _PLACE,
            rank=rank,
        )
        for rank in _RANKS
    },
    "BatchNorm1d": _norm(None),
    "BatchNorm2d": _norm(2),
    "BatchNorm3d": _norm(3),
    "SyncBatchNorm": _norm(None),
    "LayerNorm": reading(
        "layer_norm",
        "normalized_shape:shape eps=1e-5 elementwise_affine:affine=True bias:shift=True",
        _PLACE,
        bias_needs_weight=True,
    ),
    "Embedding": reading(
        "embedding",
        "num_embeddings:count embedding_dim:width padding_idx:padding_index=None max_norm==None",
        "norm_type==2.0 scale_grad_by_freq==False sparse==False",
    ),
    "Dropout": reading("dropout", "p:rate=0.5", _INPLACE),
    "Identity": reading("identity"),
    "Flatten": reading("flatten", "start_dim:start=1 end_dim:end=-1"),
    **{
        f"MaxPool{rank}d": reading(
            "max_pool",
            *(_SIZES, "dilation==1 return_indices==False ceil_mode==False"),
            rank=rank,
        )
        for rank in _RANKS
    },
    **{f"AvgPool{rank}d": _avg_pool(rank) for rank in _RANKS},
    **{f"AdaptiveAvgPool{rank}d": _adaptive("adaptive_avg", rank) for rank in _RANKS},
    **{f"AdaptiveMaxPool{rank}d": _adaptive("adaptive_max", rank) for rank in _RANKS},
    "ReLU": reading("relu", _INPLACE),
    "ReLU6": reading("relu6", _INPLACE),
    "LeakyReLU": reading("leaky_relu", "negative_slope:slope=0.01", _INPLACE),
    "ELU": reading("elu", "alpha=1.0", _INPLACE),
    "SELU": reading("selu", _INPLACE),
    "GELU": reading("gelu", _TANH),
    "SiLU": reading("silu", _INPLACE),
    "Softplus": reading("softplus", "beta==1.0 threshold==20.0"),
    "Sigmoid": reading("sigmoid"),
    "Tanh": reading("tanh"),
    "Softmax": reading("softmax", "dim:axis=None"),
    "LogSoftmax": reading("log_softmax", "dim:axis=None"),
    "ZeroPad2d": reading("zero_pad", "padding:pairs", rank=2),
    **SEQUENCES,
}
"""By the name in torch.nn."""

_ACTIVATIONS: Mapping[str, Reading] = {
    "relu": LAYERS["ReLU"],
    "relu_": reading("relu", inplace=True),
    "relu6": LAYERS["ReLU6"],
    "leaky_relu": LAYERS["LeakyReLU"],
    "elu": LAYERS["ELU"],
    "selu": LAYERS["SELU"],
    "gelu": LAYERS["GELU"],
    "silu": LAYERS["SiLU"],
    "softplus": LAYERS["Softplus"],
    "sigmoid": reading("sigmoid"),
    "tanh": reading("tanh"),
    "softmax": reading("softmax", _SOFTMAX),
    "log_softmax": reading("log_softmax", _SOFTMAX),
}
_TENSOR: Mapping[str, Reading] = {
    "flatten": reading("flatten", "start_dim:start=0 end_dim:end=-1"),
    "reshape": reading("reshape", "shape"),
    "permute": reading("permute", "dims:axes"),
    "transpose": reading("swap", "dim0:first dim1:second"),
    "unsqueeze": reading("unsqueeze", "dim:axis"),
    "squeeze": reading("squeeze", "dim:axis"),
    "mean": reading("mean", *_AXES, "dtype==None"),
    "sum": reading("sum", *_AXES, "dtype==None"),
    "amax": reading("max", *_AXES),
    "add": reading("add", "alpha==1", tensors=2),
    "sub": reading("subtract", "alpha==1", tensors=2),
    "mul": reading("multiply", tensors=2),
    "div": reading("divide", "rounding_mode==None", tensors=2),
    "matmul": reading("matmul", tensors=2),
    "bmm": reading("matmul", tensors=2),
    **{
        name: reading("compare", "other:value", operator=operator)
        for name, operator in (
            *((("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="))),
            *((("gt", ">"), ("ge", ">="))),
        )
    },
    "logical_not": reading("not"),
    "logical_and": reading("and", tensors=2),
    "logical_or": reading("or", tensors=2),
    "masked_fill": reading("fill", "value", tensors=2),
    "pow": reading("power", "exponent"),
    "square": reading("power", exponent=2),
    "swapaxes": reading("swap", "axis0:first axis1:second"),
    "chunk": reading("pieces", "chunks:count", _NEW_DIM),
    "split": reading("pieces", "split_size_or_sections:sizes", _NEW_DIM),
    **{name: reading(name) for name in ("sin", "cos", "log", "exp", "abs", "sign", "sqrt")},
}
_JOINS: Mapping[str, Reading] = {
    "cat": reading("concat", _NEW_DIM, tensors=0),
    "concat": reading("concat", _NEW_DIM, tensors=0),
    "stack": reading("stack", _NEW_DIM, tensors=0),
}
METHODS: Mapping[str, Reading] = {
    **{name: _ACTIVATIONS[name] for name in ("relu", "relu_", "sigmoid", "tanh", "softmax")},
    "log_softmax": _ACTIVATIONS["log_softmax"],
    **_TENSOR,
    "view": _TENSOR["reshape"],
    **dict.fromkeys(("contiguous", "float", "clone", "cuda", "to", "bool"), reading("identity")),
}
"""By the name of the method of a tensor."""
_FUNCTIONAL: Mapping[str, Reading] = {
    **_ACTIVATIONS,
    **{
        f"max_pool{rank}d": reading(
            "max_pool",
            *(_SIZES, "dilation==1 ceil_mode==False return_indices==False"),
            rank=rank,
        )
        for rank in _RANKS
    },
    **{f"avg_pool{rank}d": _avg_pool(rank) for rank in _RANKS},
    **{f"adaptive_avg_pool{rank}d": _adaptive("adaptive_avg", rank) for rank in _RANKS},
    "dropout": reading("dropout", "p:rate=0.5 training=True", _INPLACE),
}
FUNCTIONS: Mapping[str, Reading] = {
    **{f"torch.nn.functional.{name}": row for name, row in _FUNCTIONAL.items()},
    **{f"torch.{name}": _ACTIVATIONS[name] for name in ("relu", "sigmoid", "tanh", "softmax")},
    "torch.log_softmax": _ACTIVATIONS["log_softmax"],
    **{f"torch.{name}": row for name, row in {**_TENSOR, **_JOINS}.items()},
    "torch.where": reading("choose", "condition input:kept other", tensors=0),
}
"""By qualified name."""
