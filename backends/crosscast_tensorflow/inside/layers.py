"""How Keras lays out the tensors of its layers.

Source: `build` of each class in `keras/src/layers`. Gates are i, f, c, o in an LSTM, which is
PyTorch's order, and z, r, h in a GRU, where PyTorch has r, z, n.
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
    depthwise_last,
    flat,
    kernel_last,
    moved,
)

_GRU = (1, 0, 2)
_NORM = {
    "gamma": as_it_is("scale"),
    "scale": as_it_is("scale"),
    "beta": as_it_is("bias"),
    "moving_mean": as_it_is("mean"),
    "moving_variance": as_it_is("variance"),
}


def einsum_kernel(shape: Shape, layer: Any) -> list[Part]:
    """Return the kernel of an EinsumDense as [all outputs, all inputs]."""
    terms, output = layer.equation.replace(" ", "").split("->")
    kernel = terms.split(",")[1]
    outs = [axis for axis, letter in enumerate(kernel) if letter in output]
    ins = [axis for axis, letter in enumerate(kernel) if letter not in output]
    size = [math.prod(shape[axis] for axis in axes) for axes in (outs, ins)]
    return [Part("kernel", size, axes=[*outs, *ins])]


def gru_bias(shape: Shape, layer: Any) -> list[Part]:
    """Return the biases of a GRU: with `reset_after` it has PyTorch's two, else a single one."""
    if len(shape) == 1:
        return [Part("bias_ih", shape, gates=_GRU)]
    size = [shape[1]]
    return [
        Part("bias_ih", size, "input", part=[0, 2], gates=_GRU),
        Part("bias_hh", size, "hidden", part=[1, 2], gates=_GRU),
    ]


def _recurrent(bias: Any, gates: Any = None) -> dict[str, Any]:
    return {
        "kernel": moved("kernel_ih", (1, 0), gates),
        "recurrent_kernel": moved("kernel_hh", (1, 0), gates),
        "bias": bias,
    }


TABLE: Table = {
    "Dense": {"kernel": moved("kernel", (1, 0)), "bias": as_it_is("bias")},
    "EinsumDense": {"kernel": einsum_kernel, "bias": flat("bias")},
    "Embedding": {"embeddings": as_it_is("embedding")},
    "BaseConv": {"kernel": kernel_last, "bias": as_it_is("bias")},
    "BaseConvTranspose": {"kernel": kernel_last, "bias": as_it_is("bias")},
    "BaseDepthwiseConv": {"kernel": depthwise_last, "bias": as_it_is("bias")},
    "BaseSeparableConv": {
        "depthwise_kernel": depthwise_last,
        "pointwise_kernel": kernel_last,
        "bias": as_it_is("bias"),
    },
    **dict.fromkeys(
        ("BatchNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization"),
        _NORM,
    ),
    "LSTMCell": _recurrent(both_biases),
    "SimpleRNNCell": _recurrent(both_biases),
    "GRUCell": _recurrent(gru_bias, _GRU),
}
PACKAGES = ("keras.",)
"""Where the classes of the table are defined; those of the user may have the same names."""
