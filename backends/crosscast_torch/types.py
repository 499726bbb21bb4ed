"""Types of operations in the emitted BERT: left to autocast, or written out."""

from __future__ import annotations

from typing import Any

from crosscast.recipe.document import BertModel, OpTypes, Recipe
from crosscast.targets.backend import Form


def explicit_types(recipe: Recipe) -> bool:
    """Whether the model casts explicitly, because autocast would cast differently."""
    precision = recipe.precision
    return isinstance(recipe.model, BertModel) and (
        precision.mode == "full" or precision.ops != OpTypes()
    )


def types_view(recipe: Recipe, form: Form) -> dict[str, Any]:
    """Return how the templates of the model write layers and casts."""
    chosen = recipe.precision.ops.model_dump()
    half = recipe.precision.compute_dtype
    classes = {name: half if kind == "compute" else "float32" for name, kind in chosen.items()}
    explicit = explicit_types(recipe) and form == "script"
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
