"""How the emitted script clips, and what it prints for it."""

from __future__ import annotations

from typing import Any

from crosscast.emit.lowering import clip_constants
from crosscast.plan import predicates
from crosscast.plan.operations import Clip, Plan
from crosscast_paddle.optimizer import role_test


def clip_view(plan: Plan) -> dict[str, Any]:
    """Return constants and functions for clipping, and below `clip` what its operation prints."""
    clip = plan.get(Clip)
    # With exempt parameters a scaled script takes the norm before it unscales; see ops/unscale.
    taken = bool(clip.exempt) and predicates.scaled(plan)
    norm = "norm" if clip.mode == "per_param_norm" else "grad_norm"
    return {
        "own_norm": True,
        "unclipped": role_test(clip.exempt) if clip.exempt else (),
        "clip_constants": clip_constants(plan, with_eps=True),
        "clip": {
            "mode": clip.mode,
            "norm_taken": taken,
            "exempt": bool(clip.exempt),
            "denominator": f"({norm} + CLIP_EPS)" if clip.eps else norm,
        },
    }
