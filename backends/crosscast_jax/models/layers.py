"""What names of Flax NNX and JAX mean as neutral layers and operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast_jax.models.sequences import SEQUENCES
from crosscast_migrate.models.rows import Argument, Reading, ignored, must


def _tuple(value: Any) -> Any:
    """Return the sizes of a window: one number is a window along one axis."""
    return (value,) if isinstance(value, int) else value


def _or_one(value: Any) -> Any:
    """Return strides: without any, a window of Flax moves by one, also that of a pool."""
    return 1 if value is None else value


_TYPES = ignored("dtype", "param_dtype", "precision", "preferred_element_type", "promote_dtype")
"""In half precision they follow from `precision` of the recipe."""
_MADE = ignored("rngs", "kernel_metadata", "bias_metadata", "scale_metadata", "embedding_metadata")
_WEIGHTS = (
    Argument("use_bias", "bias", True),
    Argument("kernel_init", "weight_initial", None),
    Argument("bias_init", "bias_initial", None),
)
_SCALES = (
    Argument("use_bias", "shift", True),
    Argument("use_scale", "affine", True),
    Argument("bias_init", "bias_initial", None),
    Argument("scale_init", "weight_initial", None),
    must("axis_name", None),
    must("axis_index_groups", None),
    *ignored("use_fast_variance"),
)
_WINDOW = (
    Argument("window_shape", "kernel", convert=_tuple),
    Argument("strides", "stride", None, _or_one),
    Argument("padding", "padding", "VALID"),
)

LAYERS: Mapping[str, Reading] = {
    "Linear": Reading(
        "linear",
        (
            Argument("in_features", "inputs"),
            Argument("out_features", "units"),
            *_WEIGHTS,
            must("dot_general", None),
            *_TYPES,
            *_MADE,
        ),
    ),
    "Conv": Reading(
        "conv",
        (
            Argument("in_features", "inputs"),
            Argument("out_features", "filters"),
            Argument("kernel_size", "kernel", convert=_tuple),
            Argument("strides", "stride", 1, _or_one),
            Argument("padding", "padding", "SAME"),
            must("input_dilation", 1),
            Argument("kernel_dilation", "dilation", 1, _or_one),
            Argument("feature_group_count", "groups", 1),
            must("mask", None),
            must("conv_general_dilated", None),
            *_WEIGHTS,
            *_TYPES,
            *_MADE,
        ),
    ),
    "BatchNorm": Reading(
        "batch_norm",
        (
            Argument("num_features", "features"),
            must("use_running_average", False),
            Argument("axis", "axis", -1),
            Argument("momentum", "keep", 0.99),
            Argument("epsilon", "eps", 1e-5),
            *_SCALES,
            *_TYPES,
            *_MADE,
        ),
        {"rank": None},
    ),
    "LayerNorm": Reading(
        "layer_norm",
        (
            Argument("num_features", "shape"),
            Argument("epsilon", "eps", 1e-6),
            must("reduction_axes", -1),
            must("feature_axes", -1),
            *_SCALES,
            *_TYPES,
            *_MADE,
        ),
    ),
    "Embed": Reading(
        "embedding",
        (
            Argument("num_embeddings", "count"),
            Argument("features", "width"),
            Argument("embedding_init", "weight_initial", None),
            *_TYPES,
            *_MADE,
        ),
        {"padding_index": None},
    ),
    "Dropout": Reading(
        "dropout",
        (
            Argument("rate", "rate"),
            must("broadcast_dims", ()),
            must("deterministic", False),
            *ignored("rng_collection"),
            *_MADE,
        ),
    ),
    **SEQUENCES,
}
"""By the name in flax.nnx."""

_SOFTMAX = (Argument("axis", "axis", -1), must("where", None))
_PLAIN = ("relu", "relu6", "selu", "silu", "softplus", "sigmoid", "tanh")
_ACTIVATIONS: Mapping[str, Reading] = {
    **{name: Reading(name) for name in _PLAIN},
    "swish": Reading("silu"),
    "leaky_relu": Reading(
        "leaky_relu",
        (Argument("negative_slope", "slope", 0.01),),
        note="the derivative of leaky_relu at 0 itself: 1 in JAX, the slope in the new script",
    ),
    "elu": Reading("elu", (Argument("alpha", "alpha", 1.0),)),
    "gelu": Reading("gelu", (Argument("approximate", "tanh", True),)),
    "softmax": Reading("softmax", _SOFTMAX),
    "log_softmax": Reading("log_softmax", _SOFTMAX),
}
"""Of jax.nn and flax.nnx, where they are the same functions."""
_POOLS: Mapping[str, Reading] = {
    "max_pool": Reading("max_pool", _WINDOW),
    "avg_pool": Reading(
        "avg_pool", (*_WINDOW, Argument("count_include_pad", "counts_padding", True))
    ),
}
_REDUCE = (
    Argument("axis", "axis", None),
    must("dtype", None),
    must("out", None),
    Argument("keepdims", "keepdims", False),
    must("where", None),
)
_ARRAY: Mapping[str, Reading] = {
    "reshape": Reading("reshape", (Argument("shape", "shape"), must("order", "C"))),
    "transpose": Reading("permute", (Argument("axes", "axes"),)),
    "swapaxes": Reading("swap", (Argument("axis1", "first"), Argument("axis2", "second"))),
    "squeeze": Reading("squeeze", (Argument("axis", "axis"),)),
    "mean": Reading("mean", _REDUCE),
    "sum": Reading("sum", (*_REDUCE[:4], must("initial", None), _REDUCE[4])),
    "max": Reading(
        "max", (_REDUCE[0], _REDUCE[2], _REDUCE[3], must("initial", None), must("where", None))
    ),
}
"""Functions of jax.numpy that arrays have as methods, too."""
_JOIN = (Argument("axis", "axis", 0), must("dtype", None))
_NUMPY: Mapping[str, Reading] = {
    **_ARRAY,
    "expand_dims": Reading("unsqueeze", (Argument("axis", "axis"),)),
    "concatenate": Reading("concat", _JOIN, inputs=0),
    "stack": Reading("stack", (_JOIN[0], must("out", None), _JOIN[1]), inputs=0),
    "add": Reading("add", inputs=2),
    "subtract": Reading("subtract", inputs=2),
    "multiply": Reading("multiply", inputs=2),
    "divide": Reading("divide", inputs=2),
    "matmul": Reading("matmul", ignored("precision", "preferred_element_type"), inputs=2),
    **{
        word: Reading("compare", (Argument("y", "value"),), {"operator": operator})
        for word, operator in (
            *(("equal", "=="), ("not_equal", "!="), ("less", "<"), ("less_equal", "<=")),
            *(("greater", ">"), ("greater_equal", ">=")),
        )
    },
    "logical_not": Reading("not"),
    "logical_and": Reading("and", inputs=2),
    "logical_or": Reading("or", inputs=2),
    "power": Reading("power", (Argument("x2", "exponent"),)),
    "square": Reading("power", fixed={"exponent": 2}),
    "sin": Reading("sin"),
    "cos": Reading("cos"),
    "log": Reading("log"),
    "exp": Reading("exp"),
    "sign": Reading("sign"),
    "pad": Reading(
        "pad_all",
        (
            Argument("pad_width", "pairs"),
            must("mode", "constant"),
            Argument("constant_values", "value", 0.0),
        ),
    ),
    "abs": Reading("abs", note="the derivative of abs at 0 itself: 1 in JAX, 0 in the new script"),
    "sqrt": Reading("sqrt"),
    "tanh": Reading("tanh"),
}
METHODS: Mapping[str, Reading] = {**_ARRAY, "astype": Reading("identity")}
"""By the name of the method of an array."""
FUNCTIONS: Mapping[str, Reading] = {
    **{f"jax.nn.{name}": row for name, row in _ACTIVATIONS.items()},
    **{f"flax.nnx.{name}": row for name, row in {**_ACTIVATIONS, **_POOLS}.items()},
    "flax.nnx.identity": Reading("identity"),
    "jax.nn.identity": Reading("identity"),
    **{f"flax.linen.{name}": row for name, row in {**_ACTIVATIONS, **_POOLS}.items()},
    **{f"jax.numpy.{name}": row for name, row in _NUMPY.items()},
}
"""By qualified name."""
