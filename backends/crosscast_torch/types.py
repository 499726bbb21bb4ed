"""Types of operations in the emitted BERT: left to autocast, or written out."""

from __future__ import annotations

from typing import Any

from crosscast.emit.frame import Frame
from crosscast.plan.operations import Autocast, Plan
from crosscast.targets.backend import Form
from crosscast_torch.adaptations import TorchAdaptation


def types_view(plan: Plan, frame: Frame, form: Form) -> dict[str, Any]:
    """Return how the templates of the model write layers and casts."""
    half = plan.get(Autocast).compute_dtype
    chosen = frame.op_types.model_dump()
    classes = {name: half if kind == "compute" else "float32" for name, kind in chosen.items()}
    explicit = TorchAdaptation.EXPLICIT_CASTS in plan.adapted and form == "script"
    half_loss = explicit and classes["losses"] != "float32"
    losses = {
        "classes": classes,
        "explicit": explicit,
        "half_loss": half_loss,
        "loss_doc": f"{half}, added in float32" if half_loss else "float32",
        "losses": f".to(torch.{half})" if half_loss else ".float()",
    }
    if not explicit:
        return losses | {
            "linear": "nn.Linear",
            "norm": "nn.LayerNorm",
            "embedding": "nn.Embedding",
            "pointwise": ".float()",
            "reductions": ".float()",
            "residual": "residual",
            "dropped": "x",
            "dropped_weights": "weights",
            "weights": "weights",
            "lowest": "-1e9",
        }
    return losses | {
        "linear": "Linear",
        "norm": "LayerNorm",
        "embedding": "Embedding",
        "pointwise": ".to(POINTWISE)",
        "reductions": ".to(REDUCTIONS)",
        "residual": "residual.to(POINTWISE)",
        "dropped": "x.to(POINTWISE)",
        "dropped_weights": "weights.to(POINTWISE)",
        "weights": "weights.to(MATMUL)",
        "lowest": "-1e4" if classes["reductions"] == "float16" else "-1e9",
    }
