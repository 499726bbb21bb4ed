"""How classes of operations are written where kernels in half compute in float32."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast.recipe.document import OpType, OpTypes

_GETS = {
    "pointwise": {"matmul", "reductions"},
    "reductions": {"matmul", "residual", "embeddings"},
}
"""Class to the classes whose results its operations get."""


def kernel_types(chosen: OpTypes) -> Mapping[str, OpType]:
    """Return how classes are written where kernels in half compute in float32 and round once.

    For a framework with such kernels for GELU, tanh, dropout, softmax and LayerNorm,
    `float32_stored_half` of what gets half is `half`. Rows of the framework say so, with evidence.
    """
    kinds: dict[str, OpType] = chosen.model_dump()
    stored = {name for name, kind in kinds.items() if kind != "float32"}
    for name, sources in _GETS.items():
        if kinds[name] == "float32_stored_half" and sources <= stored:
            kinds[name] = "half"
    return kinds
