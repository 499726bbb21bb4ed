"""Rows: layers of `fluid.dygraph`."""

from __future__ import annotations

import ast

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_paddle.migration.experimental.paddle_names.call_forms import (
    both,
    given,
    is_constant,
    layer_with_activation,
    mode_of_dropout,
    one_group,
)
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.module import Module

_ATTRS = {"param_attr": "weight_attr"}
_FLOAT32 = ("'float32'", '"float32"')
_GONE = {"act": ("*",), "dtype": _FLOAT32}
_CHANNELS = {"num_channels": "in_channels", "num_filters": "out_channels"}
_CONV = {**_CHANNELS, "filter_size": "kernel_size", **_ATTRS}
_CONV_ORDER = (
    "num_channels num_filters filter_size stride padding dilation groups param_attr bias_attr "
    "use_cudnn act dtype"
)
_CONV_NEW = "num_channels num_filters filter_size stride padding dilation groups"
_CONV_GONE = {**_GONE, "use_cudnn": ("*",)}
_TRANSPOSED = (
    "num_channels num_filters filter_size output_size padding stride dilation groups param_attr "
    "bias_attr use_cudnn act dtype"
)
_LINEAR = "input_dim output_dim param_attr bias_attr act dtype"
_LAYER_NORM = "normalized_shape scale shift epsilon param_attr bias_attr act dtype"
_GROUP_NORM = "channels groups epsilon param_attr bias_attr act data_layout dtype"
_EMBEDDING = "size is_sparse is_distributed padding_idx param_attr dtype"
_POOL = "pool_size pool_type pool_stride pool_padding global_pooling use_cudnn ceil_mode exclusive"
_POOL_NAMES = {"pool_size": "kernel_size", "pool_stride": "stride", "pool_padding": "padding"}
_POOL_GONE = {"pool_type": ("*",), "global_pooling": ("*",), "use_cudnn": ("*",)}
_DROPOUT = "p seed dropout_implementation is_test"
_LAYERED = {
    "fc": "paddle.nn.Linear",
    "conv2d": "paddle.nn.Conv2D",
    "batch_norm": "paddle.nn.BatchNorm",
    "embedding": "paddle.nn.Embedding",
    "layer_norm": "paddle.nn.LayerNorm",
    "prelu": "paddle.nn.PReLU",
}
_INFERRED = "it infers its input features; write paddle.nn.Linear(in_features, out_features)"


def _pool(new: str, extra: dict[str, tuple[str, ...]], order: str) -> NameRow:
    return NameRow(
        old=(),
        new=new,
        order=_POOL,
        new_order=order,
        renamed=_POOL_NAMES,
        dropped=_POOL_GONE | extra,
        written={"pool_stride": "1"},
    )


_MAX_POOL = _pool(
    "paddle.nn.MaxPool2D", {"exclusive": ("*",)}, "pool_size pool_stride pool_padding"
)
_AVERAGE_POOL = _pool(
    "paddle.nn.AvgPool2D", {}, "pool_size pool_stride pool_padding ceil_mode exclusive"
)
_ANY_POOL = NameRow(old=(), helper="pool_layer")


def _whole_pool(kind: str) -> NameRow:
    return NameRow(
        old=(),
        new=f"paddle.nn.Adaptive{kind}Pool2D",
        order=_POOL,
        dropped=dict.fromkeys(_POOL.split(), ("*",)),
        written={"output_size": "1"},
    )


def _pool_row(module: Module, call: ast.Call | None) -> NameRow:
    """Return the row of a pooling layer by its kind, which may only be known at run time."""
    if call is None or any(keyword.arg is None for keyword in call.keywords):
        return _ANY_POOL
    kind = given(call, _POOL, "pool_type") or ast.Constant("max")
    whole = given(call, _POOL, "global_pooling") or ast.Constant(False)
    if not is_constant(whole, True, False) or not is_constant(kind, "max", "avg"):
        return _ANY_POOL
    is_max = is_constant(kind, "max")
    if is_constant(whole, True):
        return _whole_pool("Max" if is_max else "Avg")
    return _MAX_POOL if is_max else _AVERAGE_POOL


def _table_size(module: Module, call: ast.Call) -> list[Edit]:
    """Return the edits of `size=[rows, width]`, which are two arguments in Paddle 3."""
    size = given(call, _EMBEDDING, "size")
    if not isinstance(size, ast.List | ast.Tuple) or len(size.elts) != 2:
        raise CannotError(call, "its size is not written as [rows, width]; write both")
    rows, width = map(module.text, size.elts)
    keyword = next((k for k in call.keywords if k.value is size), None)
    if keyword is None:
        return [replace_node(module, size, f"{rows}, {width}")]
    return [replace_node(module, size, f"{rows}, embedding_dim={width}")]


def _without_scale(module: Module, call: ast.Call) -> list[Edit]:
    """Return the edits of `scale=False` and `shift=False`."""
    for name in ("scale", "shift"):
        value = given(call, _LAYER_NORM, name)
        if value is not None and not is_constant(value, True):
            raise CannotError(value, f"write {'weight' if name == 'scale' else 'bias'}_attr=False")
    return []


def _old_dropout(module: Module, call: ast.Call) -> list[Edit]:
    """Return the edits of the implementation of a dropout, whose old default is written out."""
    return mode_of_dropout(_DROPOUT, "dropout_implementation")(module, call)


def _channels_of_prelu(module: Module, call: ast.Call) -> list[Edit]:
    mode = given(call, "mode channel input_shape param_attr dtype", "mode")
    if is_constant(mode, "all"):
        return []
    raise CannotError(call, "write paddle.nn.PReLU(num_parameters) for its channels")


ROWS = (
    NameRow(
        old=("dygraph.Linear",),
        mode="dynamic",
        new="paddle.nn.Linear",
        order=_LINEAR,
        renamed={"input_dim": "in_features", "output_dim": "out_features", **_ATTRS},
        dropped=_GONE,
        rewrite=layer_with_activation(_LINEAR),
    ),
    NameRow(
        old=("dygraph.Conv2D",),
        mode="dynamic",
        new="paddle.nn.Conv2D",
        order=_CONV_ORDER,
        new_order=_CONV_NEW,
        renamed=_CONV,
        dropped=_CONV_GONE,
        rewrite=both(layer_with_activation(_CONV_ORDER), one_group(_CONV_ORDER)),
    ),
    NameRow(
        old=("dygraph.Conv3D",),
        mode="dynamic",
        new="paddle.nn.Conv3D",
        order=_CONV_ORDER,
        new_order=_CONV_NEW,
        renamed=_CONV,
        dropped=_CONV_GONE,
        rewrite=both(layer_with_activation(_CONV_ORDER), one_group(_CONV_ORDER)),
    ),
    NameRow(
        old=("dygraph.Conv2DTranspose",),
        mode="dynamic",
        new="paddle.nn.Conv2DTranspose",
        order=_TRANSPOSED,
        new_order="num_channels num_filters filter_size stride padding",
        renamed=_CONV,
        dropped={**_CONV_GONE, "output_size": ("None",)},
        rewrite=both(layer_with_activation(_TRANSPOSED), one_group(_TRANSPOSED)),
    ),
    NameRow(old=("dygraph.Pool2D",), mode="dynamic", variant=_pool_row),
    NameRow(
        old=("dygraph.Embedding",),
        mode="dynamic",
        new="paddle.nn.Embedding",
        order=_EMBEDDING,
        new_order="size",
        renamed={"size": "num_embeddings", "is_sparse": "sparse", **_ATTRS},
        dropped={"is_distributed": ("False",), "dtype": _FLOAT32},
        rewrite=_table_size,
    ),
    NameRow(
        old=("dygraph.LayerNorm",),
        mode="dynamic",
        new="paddle.nn.LayerNorm",
        order=_LAYER_NORM,
        new_order="normalized_shape",
        renamed=_ATTRS,
        dropped={**_GONE, "scale": ("True",), "shift": ("True",)},
        rewrite=both(layer_with_activation(_LAYER_NORM), _without_scale),
    ),
    NameRow(
        old=("dygraph.GroupNorm",),
        mode="dynamic",
        new="paddle.nn.GroupNorm",
        order=_GROUP_NORM,
        new_order="groups channels epsilon",
        renamed={
            "groups": "num_groups",
            "channels": "num_channels",
            "data_layout": "data_format",
            **_ATTRS,
        },
        dropped=_GONE,
        rewrite=layer_with_activation(_GROUP_NORM),
    ),
    NameRow(
        old=("dygraph.Dropout",),
        mode="dynamic",
        new="paddle.nn.Dropout",
        order=_DROPOUT,
        new_order="p",
        renamed={"dropout_implementation": "mode"},
        dropped={"seed": ("None",), "is_test": ("False",)},
        written={"dropout_implementation": '"downscale_in_infer"'},
        rewrite=_old_dropout,
    ),
    NameRow(
        old=("dygraph.PRelu",),
        mode="dynamic",
        new="paddle.nn.PReLU",
        order="mode channel input_shape param_attr dtype",
        renamed=_ATTRS,
        dropped={
            "mode": ("*",),
            "channel": ("*",),
            "input_shape": ("*",),
            "dtype": _FLOAT32,
        },
        written={"init": "1.0"},
        rewrite=_channels_of_prelu,
    ),
    NameRow(old=("dygraph.FC",), mode="dynamic", refused=_INFERRED),
    NameRow(
        old=("dygraph.GRUUnit",),
        mode="dynamic",
        refused="Paddle 3 has no such layer; write it with paddle.nn.GRUCell, whose weights are "
        "stored and gated differently",
    ),
    *(
        NameRow(
            old=(f"layers.{name}",),
            mode="dynamic",
            refused="it creates parameters in a function, which only graphs allow; "
            f"create {new} in __init__ and call it",
        )
        for name, new in _LAYERED.items()
    ),
)
