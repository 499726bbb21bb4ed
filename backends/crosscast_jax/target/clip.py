"""What the templates print of clipping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.lowering import clip_constants
from crosscast.plan.operations import Clip, Plan
from crosscast_jax.target.adaptations import JaxAdaptation
from crosscast_jax.target.roles import Spared, spared


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipView:
    """How gradients are clipped."""

    mode: Literal["none", "global_norm", "per_param_norm", "value"]
    constants: tuple[str, ...]
    """Assignments of clipping and of the divisor of the loss, as lines."""
    own: bool
    """Whether the script clips by itself, with an epsilon."""
    exempt: Spared | None
    """Which weights are exempt; None for none."""


def clip_view(plan: Plan) -> ClipView:
    """Return the view of clipping."""
    clip = plan.get(Clip)
    return ClipView(
        mode=clip.mode,
        constants=clip_constants(plan, with_eps=True),
        own=JaxAdaptation.OWN_CLIP in plan.adapted,
        exempt=spared(clip.exempt),
    )
