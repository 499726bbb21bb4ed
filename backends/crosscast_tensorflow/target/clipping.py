"""What the templates print of clipping, and what Keras calls the weights that are exempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.lowering import clip_constants
from crosscast.plan.operations import Clip, Plan, Role
from crosscast_tensorflow.target.adaptations import TensorflowAdaptation

# A bias of a layer normalization is both, as in the other frameworks.
_ROLE_NAMES: dict[Role, tuple[str, ...]] = {
    "bias": ("bias", "beta"),
    "layer_norm": ("gamma", "beta"),
    "embedding": ("embeddings",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipView:
    """How gradients are clipped."""

    mode: Literal["none", "global_norm", "per_param_norm", "value"]
    constants: tuple[str, ...]
    """Assignments of clipping and of the divisor of the loss, as lines."""
    exempt: tuple[str, ...]
    """What Keras calls the weights that are exempt."""
    by_name: bool
    """Whether weights of unknown layers have these names, too."""


def clip_view(plan: Plan) -> ClipView:
    """Return the view of clipping."""
    clip = plan.get(Clip)
    own = TensorflowAdaptation.OWN_CLIP in plan.adapted or clip.mode == "value"
    return ClipView(
        mode=clip.mode if own else "none",
        constants=clip_constants(plan, with_eps=True),
        exempt=role_names(clip.exempt),
        by_name=TensorflowAdaptation.CLIPS_BY_NAME in plan.adapted,
    )


def role_names(roles: tuple[Role, ...]) -> tuple[str, ...]:
    """Return Keras' names of the variables of these roles, each once."""
    return tuple(dict.fromkeys(name for role in roles for name in _ROLE_NAMES[role]))
