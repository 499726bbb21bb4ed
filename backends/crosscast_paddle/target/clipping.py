"""How the emitted script clips, and what it prints for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.lowering import clip_constants
from crosscast.plan.operations import Clip, Plan
from crosscast_paddle.target.adaptations import PaddleAdaptation
from crosscast_paddle.target.optimizer import role_test


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipView:
    """Clipping of gradients."""

    constants: tuple[str, ...]
    mode: Literal["none", "global_norm", "per_param_norm", "value"]
    exempt: tuple[str, ...]
    """The body of `clips`, as lines; none where every parameter is clipped."""
    parameters: str
    """What is clipped, as code."""
    denominator: str
    """What the limit is divided by, as code."""


def clip_view(plan: Plan, *, half_weights: bool) -> ClipView:
    """Return the view of clipping.

    Args:
        plan: The plan.
        half_weights: Whether the gradients are those of a model of its own.
    """
    clip, has = plan.get(Clip), plan.adapted.__contains__
    mode = clip.mode
    if mode == "per_param_norm" and not has(PaddleAdaptation.EACH_NORM):
        mode = "global_norm"
    own = mode == "value" or has(PaddleAdaptation.OWN_CLIP)
    norm = "norm" if mode == "per_param_norm" else "grad_norm"
    exempt = has(PaddleAdaptation.EXEMPT)
    every = "state.model.parameters()" if half_weights else "model.parameters()"
    return ClipView(
        constants=clip_constants(plan, with_eps=True),
        mode=mode if own else "none",
        exempt=role_test(clip.exempt) if exempt else (),
        parameters="clipped" if exempt else every,
        denominator=f"({norm} + CLIP_EPS)" if clip.eps else norm,
    )
