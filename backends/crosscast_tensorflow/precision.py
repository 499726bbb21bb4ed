"""In which types the emitted Keras model holds its weights and computes."""

from __future__ import annotations

from typing import Any

from crosscast.emit.frame import Frame
from crosscast.plan import predicates
from crosscast.plan.operations import Autocast, Plan
from crosscast.recipe.document import BertModel, OpTypes


def policy(plan: Plan, frame: Frame) -> str:
    """Return the dtype policy of Keras under which the layers are built."""
    autocast = plan.get(Autocast)
    if predicates.half_weights(plan) or not predicates.half_type(plan):
        return autocast.compute_dtype
    if isinstance(frame.model, BertModel) and frame.op_types.matmul == "float32":
        return "float32"
    return f"mixed_{autocast.compute_dtype}"


def types_view(plan: Plan, frame: Frame) -> dict[str, Any]:
    """Return the types that the template of the shipped BERT prints.

    `point`, `reduce` and `lookup` are the functions that cast to the type of a class of operations,
    `norm_out` and `dropout_in` the one needed where a value goes from one class to the other.
    """
    half, full = predicates.half_type(plan), predicates.half_weights(plan)
    ops = frame.op_types if half else OpTypes()
    chosen = {name: half if value == "compute" else "float32" for name, value in ops}
    embedding = chosen["embeddings"]
    point, reduce = chosen["pointwise"], chosen["reductions"]
    return {
        "stock": point == reduce == embedding == "float32" and not full,
        "half": half,
        "uses_half": half in (point, reduce) or (bool(half) and embedding == half),
        "point": _cast(point),
        "reduce": _cast(reduce),
        "lookup": full and embedding == "float32",
        "norm_out": _cast(point) if point != reduce else "",
        "dropout_in": _cast(point) if point != reduce else "",
        "dropout_type": point,
        "embedding_type": _layer_type(half, full=full, computes=embedding),
        "norm_type": "float32" if reduce == "float32" else f"mixed_{half}",
        "layers_cast": point == reduce == "float32",
        "hidden": "-1e4" if reduce == "float16" else "-1e9",
    }


def _cast(dtype: str) -> str:
    return "float32" if dtype == "float32" else "half"


def _layer_type(half: str, *, full: bool, computes: str) -> str:
    """Return the policy of the embeddings: how they hold their table and look it up."""
    if full:
        return half
    return "float32" if computes == "float32" else f"mixed_{half}"
