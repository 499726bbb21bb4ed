"""How PyTorch lays out the tensors of its layers: the canonical layout, but for a few.

Source: the section "Variables" of each class in the documentation of `torch.nn`.
"""

from __future__ import annotations

from crosscast_parity.inside.tensor_rows import RNN, RNN_CELL, Table, as_it_is, moved, packed

_NORM = {
    "weight": as_it_is("scale"),
    "bias": as_it_is("bias"),
    "running_mean": as_it_is("mean"),
    "running_var": as_it_is("variance"),
}
_LINEAR = {"weight": as_it_is("kernel"), "bias": as_it_is("bias")}
_QUERIES = ("query", "key", "value")
TABLE: Table = {
    **dict.fromkeys(("_NormBase", "LayerNorm", "GroupNorm", "RMSNorm"), _NORM),
    **dict.fromkeys(("Linear", "_ConvNd"), _LINEAR),
    "Embedding": {"weight": as_it_is("embedding")},
    "EmbeddingBag": {"weight": as_it_is("embedding")},
    "MultiheadAttention": {
        "in_proj_weight": packed("kernel", _QUERIES),
        "in_proj_bias": packed("bias", _QUERIES),
        **{f"{letter}_proj_weight": as_it_is("kernel") for letter in "qkv"},
    },
    "RNNBase": RNN,
    "RNNCellBase": RNN_CELL,
    # transformers.pytorch_utils.Conv1D, of GPT-2: "Basically works like a linear layer but the
    # weights are transposed."
    "Conv1D": {"weight": moved("kernel", (1, 0)), "bias": as_it_is("bias")},
}
PACKAGES = ("torch.", "transformers.pytorch_utils")
"""Where the classes of the table are defined; those of the user may have the same names."""
COUNTERS = ("num_batches_tracked",)
