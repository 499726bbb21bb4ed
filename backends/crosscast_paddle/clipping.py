"""How the emitted script clips, and what it prints for it."""

from __future__ import annotations

from typing import Any

from crosscast.emit.lowering import clip_constants
from crosscast.plan import operations as ops
from crosscast.recipe.document import Recipe
from crosscast_paddle.optimizer import role_test


def clip_view(recipe: Recipe, plan: ops.Plan) -> dict[str, Any]:
    """Return constants and functions for clipping, and below `clip` what its operation prints."""
    clip, normalize = plan.find(ops.Clip), plan.find(ops.Normalize)
    assert clip is not None  # every canonical plan has both
    assert normalize is not None
    # With exempt parameters a scaled script takes the norm before it unscales; see ops/unscale.
    taken = bool(clip.exempt) and recipe.scaling_on
    full = () if normalize.renormalize else (f"FULL_WINDOW = {normalize.full}",)
    norm = "norm" if clip.mode == "per_param_norm" else "grad_norm"
    return {
        "own_norm": True,
        "unclipped": role_test(clip.exempt) if clip.exempt else (),
        "clip_constants": (*clip_constants(recipe, with_eps=True), *full),
        "clip": {
            "mode": clip.mode,
            "norm_taken": taken,
            "exempt": bool(clip.exempt),
            "denominator": f"({norm} + CLIP_EPS)" if clip.eps else norm,
        },
    }
