"""What names of Flax NNX and JAX mean as neutral layers and operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast_jax.models.sequences import SEQUENCES
from crosscast_migrate.models.rows import Argument, Reading, reading


def _tuple(value: Any) -> Any:
    """Return the sizes of a window: one number is a window along one axis."""
    return (value,) if isinstance(value, int) else value


def _or_one(value: Any) -> Any:
    """Return strides: without any, a window of Flax moves by one, also that of a pool."""
    return 1 if value is None else value


_TYPES = "dtype? param_dtype? precision? preferred_element_type? promote_dtype?"
"""In half precision they follow from `precision` of the recipe."""
_MADE = "rngs? kernel_metadata? bias_metadata? scale_metadata? embedding_metadata?"
_WEIGHTS = "use_bias:bias=True kernel_init:weight_initial=None bias_init:bias_initial=None"
_SCALES = (
    "use_bias:shift=True use_scale:affine=True bias_init:bias_initial=None "
    "scale_init:weight_initial=None axis_name==None axis_index_groups==None use_fast_variance?"
)
_WINDOW = (
    Argument("window_shape", "kernel", convert=_tuple),
    Argument("strides", "stride", None, _or_one),
    "padding='VALID'",
)

LAYERS: Mapping[str, Reading] = {
    "Linear": reading(
        "linear",
        *("in_features:inputs out_features:units", _WEIGHTS, "dot_general==None", _TYPES, _MADE),
    ),
    "Conv": reading(
        "conv",
        "in_features:inputs out_features:filters",
        Argument("kernel_size", "kernel", convert=_tuple),
        Argument("strides", "stride", 1, _or_one),
        "padding='SAME' input_dilation==1",
        Argument("kernel_dilation", "dilation", 1, _or_one),
        "feature_group_count:groups=1 mask==None conv_general_dilated==None",
        *(_WEIGHTS, _TYPES, _MADE),
    ),
    "BatchNorm": reading(
        "batch_norm",
        "num_features:features use_running_average==False axis=-1 momentum:keep=0.99",
        *("epsilon:eps=1e-5", _SCALES, _TYPES, _MADE),
        rank=None,
    ),
    "LayerNorm": reading(
        "layer_norm",
        "num_features:shape epsilon:eps=1e-6 reduction_axes==-1 feature_axes==-1",
        *(_SCALES, _TYPES, _MADE),
    ),
    "Embed": reading(
        "embedding",
        "num_embeddings:count features:width embedding_init:weight_initial=None",
        *(_TYPES, _MADE),
        padding_index=None,
    ),
    "Dropout": reading(
        "dropout", "rate broadcast_dims==() deterministic==False rng_collection?", _MADE
    ),
    **SEQUENCES,
}
"""By the name in flax.nnx."""

_SOFTMAX = "axis=-1 where==None"
_PLAIN = ("relu", "relu6", "selu", "silu", "softplus", "sigmoid", "tanh")
_ACTIVATIONS: Mapping[str, Reading] = {
    **{name: reading(name) for name in _PLAIN},
    "swish": reading("silu"),
    "leaky_relu": reading(
        "leaky_relu",
        "negative_slope:slope=0.01",
        note="the derivative of leaky_relu at 0 itself: 1 in JAX, the slope in the new script",
    ),
    "elu": reading("elu", "alpha=1.0"),
    "gelu": reading("gelu", "approximate:tanh=True"),
    "softmax": reading("softmax", _SOFTMAX),
    "log_softmax": reading("log_softmax", _SOFTMAX),
}
"""Of jax.nn and flax.nnx, where they are the same functions."""
_POOLS: Mapping[str, Reading] = {
    "max_pool": reading("max_pool", *_WINDOW),
    "avg_pool": reading("avg_pool", *_WINDOW, "count_include_pad:counts_padding=True"),
}
_ARRAY: Mapping[str, Reading] = {
    "reshape": reading("reshape", "shape order=='C'"),
    "transpose": reading("permute", "axes"),
    "swapaxes": reading("swap", "axis1:first axis2:second"),
    "squeeze": reading("squeeze", "axis"),
    "mean": reading("mean", "axis=None dtype==None out==None keepdims=False where==None"),
    "sum": reading(
        "sum", "axis=None dtype==None out==None keepdims=False initial==None where==None"
    ),
    "max": reading("max", "axis=None out==None keepdims=False initial==None where==None"),
}
"""Functions of jax.numpy that arrays have as methods, too."""
_NUMPY: Mapping[str, Reading] = {
    **_ARRAY,
    "expand_dims": reading("unsqueeze", "axis"),
    "concatenate": reading("concat", "axis=0 dtype==None", tensors=0),
    "stack": reading("stack", "axis=0 out==None dtype==None", tensors=0),
    **{name: reading(name, tensors=2) for name in ("add", "subtract", "multiply", "divide")},
    "matmul": reading("matmul", "precision? preferred_element_type?", tensors=2),
    **{
        name: reading("compare", "y:value", operator=operator)
        for name, operator in (
            *((("equal", "=="), ("not_equal", "!="), ("less", "<"), ("less_equal", "<="))),
            *((("greater", ">"), ("greater_equal", ">="))),
        )
    },
    "logical_not": reading("not"),
    "logical_and": reading("and", tensors=2),
    "logical_or": reading("or", tensors=2),
    "power": reading("power", "x2:exponent"),
    "square": reading("power", exponent=2),
    **{name: reading(name) for name in ("sin", "cos", "log", "exp")},
    "sign": reading("sign"),
    "pad": reading("pad_all", "pad_width:pairs mode=='constant' constant_values:value=0.0"),
    "abs": reading("abs", note="the derivative of abs at 0 itself: 1 in JAX, 0 in the new script"),
    "sqrt": reading("sqrt"),
    "tanh": reading("tanh"),
}
METHODS: Mapping[str, Reading] = {**_ARRAY, "astype": reading("identity")}
"""By the name of the method of an array."""
FUNCTIONS: Mapping[str, Reading] = {
    **{f"jax.nn.{name}": row for name, row in _ACTIVATIONS.items()},
    **{f"flax.nnx.{name}": row for name, row in {**_ACTIVATIONS, **_POOLS}.items()},
    "flax.nnx.identity": reading("identity"),
    "jax.nn.identity": reading("identity"),
    **{f"flax.linen.{name}": row for name, row in {**_ACTIVATIONS, **_POOLS}.items()},
    **{f"jax.numpy.{name}": row for name, row in _NUMPY.items()},
}
"""By qualified name."""
