"""What the policies of `precision.policy` say of each class of operations."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast.recipe.document import OpType, Policy

DEFAULT_POLICY: Policy = "stored_half"
"""Policy of the shipped BERT in half precision that says nothing else."""

POLICIES: Mapping[str, Mapping[str, OpType]] = {
    # Matrix products and pointwise operations in half; sums over many numbers in float32, rounded
    # when they are stored. A row's loss stays float32: rounding it saves four bytes at most, and
    # its gradient, the loss scale over the number of rows, would be rounded for all rows at once.
    "stored_half": {
        "matmul": "half",
        "pointwise": "half",
        "reductions": "float32_stored_half",
        "embeddings": "float32_stored_half",
        "losses": "float32",
        "residual": "half",
    },
    "float32_stream": {
        "matmul": "half",
        "pointwise": "float32",
        "reductions": "float32",
        "embeddings": "float32",
        "losses": "float32",
        "residual": "float32",
    },
    # On CUDA softmax and layer_norm are on the list of float32; gelu, tanh and dropout follow what
    # they get, and the sum of a half and a float32 number is float32.
    "autocast": {
        "matmul": "half",
        "pointwise": "half",
        "reductions": "float32",
        "embeddings": "float32",
        "losses": "float32",
        "residual": "float32",
    },
    # Layers compute in half under a mixed policy, LayerNormalization in float32 inside; users are
    # told to keep the outputs of the model, and so the loss, in float32.
    "keras": {
        "matmul": "half",
        "pointwise": "half",
        "reductions": "half",
        "embeddings": "half",
        "losses": "float32",
        "residual": "half",
    },
}
"""Policy to class of `precision.ops` to type. `float32_stream` has the defaults of `OpTypes`."""
