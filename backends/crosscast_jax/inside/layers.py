"""How Flax NNX lays out the variables of its layers.

Source: the attributes that the documentation of each class of `flax.nnx` lists; dense kernels are
[in, out], those of convolutions [sizes..., in, out]. The gates of an LSTM are i, f, g, o, which is
PyTorch's order. What a layer holds in another one of Flax is named with it: `dense_i.kernel`.
"""

from __future__ import annotations

import math
from typing import Any

from crosscast_parity.inside.tensor_rows import (
    Part,
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


_NORM = {"scale": as_it_is("scale"), "bias": as_it_is("bias")}
TABLE: Table = {
    **dict.fromkeys(("LayerNorm", "RMSNorm", "GroupNorm", "InstanceNorm"), _NORM),
    "BatchNorm": {**_NORM, "mean": as_it_is("mean"), "var": as_it_is("variance")},
    "Linear": {"kernel": moved("kernel", (1, 0)), "bias": as_it_is("bias")},
    "Conv": {"kernel": kernel_last, "bias": as_it_is("bias")},
    "Embed": {"embedding": as_it_is("embedding")},
    "LinearGeneral": {"kernel": general_kernel, "bias": flat("bias")},
    "OptimizedLSTMCell": {
        "dense_i.kernel": moved("kernel_ih", (1, 0)),
        "dense_h.kernel": moved("kernel_hh", (1, 0)),
        "dense_h.bias": both_biases,
    },
}
CELLS = ("OptimizedLSTMCell",)
"""Classes whose tensors lie in layers of their own."""
PACKAGES = ("flax.",)
"""Where the classes of the table are defined; those of the user may have the same names."""
