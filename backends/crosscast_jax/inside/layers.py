"""How Flax NNX lays out the variables of its layers.

Source: the attributes that the documentation of each class of `flax.nnx` lists; dense kernels are
[in, out], those of convolutions [sizes..., in, out]. The gates of an LSTM are i, f, g, o, which is
PyTorch's order, as are r, z, n of a GRU, which has no bias for its state. What a layer holds in
another one of Flax is named with it: `dense_i.kernel`.
"""

from __future__ import annotations

import math
from typing import Any

from crosscast_parity.inside.tensor_rows import (
    Part,
    RowMaker,
    Shape,
    Table,
    as_it_is,
    both_biases,
    flat,
    kernel_last,
    moved,
)


def general_kernel(shape: Shape, layer: Any) -> list[Part]:
    """Return the kernel of a LinearGeneral, [inputs..., outputs...], as [all outputs, all inputs].

    One of attention has several outputs or several inputs: the heads and their size.
    """
    outputs = layer.out_features
    count = len(outputs) if isinstance(outputs, (tuple, list)) else 1
    ins, outs = range(len(shape) - count), range(len(shape) - count, len(shape))
    size = [math.prod(shape[axis] for axis in axes) for axes in (outs, ins)]
    return [Part("kernel", size, axes=[*outs, *ins])]


def transposed_kernel(shape: Shape, layer: Any) -> list[Part]:
    """Return the kernel of a transposed convolution, [sizes..., out, in] if it is transposed, too.

    Otherwise it is turned around, which no layout says.
    """
    (part,) = kernel_last(shape, layer)
    return [part._replace(known=bool(layer.transpose_kernel))]


def linen_kernel(shape: Shape, layer: Any) -> list[Part]:
    """Return a kernel of Linen, whose layer is not known: of a dense layer or a convolution."""
    row = moved("kernel", (1, 0)) if len(shape) == 2 else kernel_last
    (part,) = row(shape, layer)
    return [part._replace(known=False)]


def linen_attention(outputs: int) -> RowMaker:
    """Return the row of a kernel in Linen's attention, whose last axes are of the outputs.

    A kernel that has another number of axes is no such kernel.
    """

    def row(shape: Shape, layer: Any) -> list[Part]:
        if len(shape) != 3:
            return linen_kernel(shape, layer)
        outs, ins = [*range(3 - outputs, 3)], [*range(3 - outputs)]
        size = [math.prod(shape[axis] for axis in axes) for axes in (outs, ins)]
        return [Part("kernel", size, axes=[*outs, *ins], known=False)]

    return row


LINEN = "ToNNX"
"""The class of Flax that holds a module of Linen, with the names that its layers give weights."""
_NORM = {"scale": as_it_is("scale"), "bias": as_it_is("bias")}
_CELL = {
    "dense_i.kernel": moved("kernel_ih", (1, 0)),
    "dense_h.kernel": moved("kernel_hh", (1, 0)),
}
TABLE: Table = {
    **dict.fromkeys(("LayerNorm", "RMSNorm", "GroupNorm", "InstanceNorm"), _NORM),
    "BatchNorm": {**_NORM, "mean": as_it_is("mean"), "var": as_it_is("variance")},
    "Linear": {"kernel": moved("kernel", (1, 0)), "bias": as_it_is("bias")},
    "Conv": {"kernel": kernel_last, "bias": as_it_is("bias")},
    "Embed": {"embedding": as_it_is("embedding")},
    "LinearGeneral": {"kernel": general_kernel, "bias": flat("bias")},
    "ConvTranspose": {"kernel": transposed_kernel, "bias": as_it_is("bias")},
    "OptimizedLSTMCell": {**_CELL, "dense_h.bias": both_biases},
    "SimpleCell": {**_CELL, "dense_i.bias": both_biases},
    "GRUCell": {**_CELL, "dense_i.bias": as_it_is("bias_ih")},
    LINEN: {
        **dict.fromkeys(("query.kernel", "key.kernel", "value.kernel"), linen_attention(2)),
        **dict.fromkeys(("query.bias", "key.bias", "value.bias"), flat("bias")),
        "out.kernel": linen_attention(1),
        **_NORM,
        "kernel": linen_kernel,
        "embedding": as_it_is("embedding"),
        "mean": as_it_is("mean"),
        "var": as_it_is("variance"),
    },
}
CELLS = ("OptimizedLSTMCell", "SimpleCell", "GRUCell")
"""Classes whose tensors lie in layers of their own."""
PACKAGES = ("flax.",)
"""Where the classes of the table are defined; those of the user may have the same names."""
