"""What kind of module a class of a framework is."""

from __future__ import annotations

_WORDS = (
    ("dropout", "dropout"),
    ("batchnorm", "batch norm"),
    ("layernorm", "layer norm"),
    ("groupnorm", "group norm"),
    ("rmsnorm", "rms norm"),
    ("instancenorm", "instance norm"),
    ("adaptiveavgpool", "global average pool"),
    ("globalaveragepool", "global average pool"),
    ("avgpool", "average pool"),
    ("averagepool", "average pool"),
    ("maxpool", "max pool"),
    ("upsampl", "resize"),
    ("resizing", "resize"),
    ("lstm", "lstm"),
    ("gru", "gru"),
    ("multihead", "attention"),
    ("padding", "padding"),
    ("leakyrelu", "activation"),
    ("relu", "activation"),
    ("gelu", "activation"),
    ("silu", "activation"),
    ("swish", "activation"),
    ("sigmoid", "activation"),
    ("tanh", "activation"),
    ("activation", "activation"),
    ("softmax", "softmax"),
    ("conv", "convolution"),
    ("linear", "dense"),
    ("dense", "dense"),
    ("embedding", "embedding"),
    ("identity", "identity"),
)
"""Part of the name of a class in lower case, and the word for all frameworks."""
SPATIAL = ("convolution", "average pool", "max pool", "resize")
"""Layers whose settings decide on the size of the images that they return."""
WORDS = frozenset(word for _, word in _WORDS)
"""What `group_of` calls the classes of frameworks."""


def group_of(base: str, kind: str) -> str:
    """Return the word for a class of a framework, or that of the user's which is derived from it.

    A class of the user's that is no known layer has its own name.
    """
    low = base.lower().replace("_", "").replace("normalization", "norm").replace("pooling", "pool")
    for part, word in _WORDS:
        if part in low:
            return word
    return kind.lower() if base in ("Module", "Layer") else low
