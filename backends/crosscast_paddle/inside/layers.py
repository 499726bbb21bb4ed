"""How Paddle lays out the tensors of its layers.

Source: the section "Attribute" of each class in the documentation of `paddle.nn`; dense kernels
are [in, out], all else has PyTorch's layout, LSTM and GRU with its gates, too.
"""

from __future__ import annotations

from crosscast_parity.inside.tensor_rows import RNN, RNN_CELL, Table, as_it_is, flat, moved

_NORM = {
    "weight": as_it_is("scale"),
    "scale": as_it_is("scale"),
    "bias": as_it_is("bias"),
    "_mean": as_it_is("mean"),
    "_variance": as_it_is("variance"),
}
TABLE: Table = {
    **dict.fromkeys(
        ("_BatchNormBase", "BatchNorm", "_InstanceNormBase", "GroupNorm", "RMSNorm"),
        _NORM,
    ),
    "LayerNorm": {"weight": flat("scale"), "bias": flat("bias")},  # a vector, whatever its shape
    "Linear": {"weight": moved("kernel", (1, 0)), "bias": as_it_is("bias")},
    "_ConvNd": {"weight": as_it_is("kernel"), "bias": as_it_is("bias")},
    "Embedding": {"weight": as_it_is("embedding")},
    "RNNBase": RNN,
    "RNNCellBase": RNN_CELL,
}
PACKAGES = ("paddle.",)
"""Where the classes of the table are defined; those of the user may have the same names."""
