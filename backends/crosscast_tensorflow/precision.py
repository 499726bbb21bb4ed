"""In which types the emitted Keras model holds its weights and computes."""

from __future__ import annotations

from typing import Any

from crosscast.emit.frame import Frame
from crosscast.plan import predicates
from crosscast.plan.operations import Autocast, Plan
from crosscast.recipe.document import OpTypes
from crosscast_tensorflow.adaptations import TensorflowAdaptation


def policy(plan: Plan, frame: Frame) -> str:
    """Return the dtype policy of Keras under which the layers are built."""
    half = plan.get(Autocast).compute_dtype
    if TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted:
        return half
    if TensorflowAdaptation.MIXED_POLICY not in plan.adapted:
        return "float32"
    return "float32" if op_types(plan, frame).matmul == "float32" else f"mixed_{half}"


def op_types(plan: Plan, frame: Frame) -> OpTypes:
    """Return the types of classes of operations in the shipped model."""
    return frame.op_types if TensorflowAdaptation.OWN_TYPES in plan.adapted else OpTypes()


def types_view(plan: Plan, frame: Frame) -> dict[str, Any]:
    """Return the types that the template of the shipped BERT prints.

    `point`, `reduce` and `lookup` are the functions that cast to the type of a class of operations,
    `norm_out` and `dropout_in` the one needed where a value goes from one class to the other.
    """
    half = predicates.half_type(plan)
    full, ops = TensorflowAdaptation.MASTER_WEIGHTS in plan.adapted, op_types(plan, frame)
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
