"""What the emitted Python of layers on PyTorch shares: optimizer, schedule, loss scale."""

from __future__ import annotations

from typing import Any

from crosscast import __version__
from crosscast.emit.frame import frame_of, recipe_hash
from crosscast.emit.lowering import shared_view
from crosscast.recipe.document import (
    DynamicLossScaling,
    GlobalNormClipping,
    PerParamNormClipping,
    Recipe,
    ValueClipping,
)
from crosscast_torch.dialects import DIALECTS
from crosscast_torch.optimizer import optimizer_view
from crosscast_torch.overrides import TorchOverrides
from crosscast_torch.rows import adapted_plan

_UNFUSED = TorchOverrides(fused_optimizer=False)
"""A fused optimizer does not tell trainers of a skipped step."""
_PRECISIONS = {"": "no", "float16": "fp16", "bfloat16": "bf16"}


def heading(recipe: Recipe, what: str) -> dict[str, Any]:
    """Return the header of a file."""
    digest = recipe_hash(recipe)
    return {
        "header": (
            f"{recipe.name}: {what}.",
            f"Written by crosscast {__version__} from recipe {digest}.",
            "Edit freely: nothing here imports crosscast.",
        )
    }


def training_view(recipe: Recipe, title: str) -> dict[str, Any]:
    """Return what templates of Python on PyTorch print."""
    plan = adapted_plan(recipe, DIALECTS[0])
    optimizer = optimizer_view(plan, _UNFUSED, DIALECTS[0].features)
    view = shared_view(plan, frame_of(recipe), title, "script")
    view |= heading(recipe, f"training with {title}")
    own_rates = optimizer["rates"]
    view |= {
        "optimizer": optimizer,
        "full": False,
        "weight_type": "nn.Parameter",
        "weight_of": "parameter",
        "weight": "p",
        "parameters": "model.parameters()",
        "math": view["schedule"]["math"] or optimizer["math"],
        "fnmatch": bool(optimizer["groups"]),
        "own_rates": own_rates,
        "mixed_precision": _PRECISIONS[recipe.half],
        "scaler": _scaler(recipe),
        "clip": _clip(recipe),
    }
    return view


def groups_view(recipe: Recipe) -> dict[str, Any]:
    """Return what the template of parameter groups prints, for an optimizer made elsewhere."""
    view = training_view(recipe, "")
    optimizer = recipe.optimizer
    return view | {"rate": optimizer.learning_rate, "decay": optimizer.weight_decay}


def _scaler(recipe: Recipe) -> tuple[tuple[str, float | int], ...]:
    """Return the arguments of a GradScaler."""
    scaling = recipe.loss_scaling
    if not isinstance(scaling, DynamicLossScaling):
        return ()
    names = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
    return tuple((name, getattr(scaling, name)) for name in names)


def _clip(recipe: Recipe) -> dict[str, Any]:
    clipping = recipe.clipping
    match clipping:
        case GlobalNormClipping() | PerParamNormClipping():
            return {"kind": "norm", "limit": clipping.max_norm}
        case ValueClipping():
            return {"kind": "value", "limit": clipping.max_value}
        case _:
            return {"kind": "", "limit": 0.0}
