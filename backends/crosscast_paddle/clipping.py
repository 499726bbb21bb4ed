"""How the emitted script clips, and what it prints for it."""

from __future__ import annotations

from typing import Any

from crosscast.emit.lowering import clip_constants
from crosscast.plan import predicates
from crosscast.plan.operations import Clip, Plan
from crosscast_paddle.adaptations import PaddleAdaptation
from crosscast_paddle.optimizer import role_test


def clip_view(plan: Plan) -> dict[str, Any]:
    """Return constants and functions for clipping, and below `clip` what its operation prints."""
    clip, has = plan.get(Clip), plan.adapted.__contains__
    exempt = has(PaddleAdaptation.EXEMPT)
    mode = clip.mode
    if mode == "per_param_norm" and not has(PaddleAdaptation.EACH_NORM):
        mode = "global_norm"
    own = mode == "value" or has(PaddleAdaptation.OWN_CLIP)
    norm = "norm" if mode == "per_param_norm" else "grad_norm"
    return {
        "own_norm": True,
        "unclipped": role_test(clip.exempt) if exempt else (),
        "clip_constants": clip_constants(plan, with_eps=True),
        "clip": {
            "mode": mode if own else "none",
            # With exempt parameters a scaled script takes the norm before it unscales; see
            # ops/unscale.
            "norm_taken": exempt and predicates.scaled(plan),
            "exempt": exempt,
            "denominator": f"({norm} + CLIP_EPS)" if clip.eps else norm,
        },
    }
