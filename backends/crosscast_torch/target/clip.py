"""Clipping: which function of PyTorch does it, and of which parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.lowering import clip_constants
from crosscast.plan.operations import Clip, Plan
from crosscast_torch.target.adaptations import TorchAdaptation
from crosscast_torch.target.optimizer import WeightsView
from crosscast_torch.target.roles import without_roles


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipView:
    """How gradients are clipped."""

    mode: Literal["none", "global_norm", "per_param_norm", "value"]
    stock: bool
    """Whether PyTorch's functions do it."""
    constants: tuple[str, ...]
    """Those of clipping and of the divisor of the loss, as lines."""
    exempt: tuple[str, ...]
    """Body of the function that tells which parameters are clipped; empty for all."""
    parameters: str
    """Those that are clipped, as code."""

    @property
    def own_norm(self) -> bool:
        """Whether the script computes the norm of all gradients itself."""
        return not self.stock or self.mode != "global_norm"


def clip_view(plan: Plan, weights: WeightsView, features: frozenset[str]) -> ClipView:
    """Return the view of a plan's clipping."""
    clip, own = plan.get(Clip), TorchAdaptation.OWN_CLIP in plan.adapted
    together = clip.mode == "per_param_norm" and TorchAdaptation.EACH_NORM not in plan.adapted
    return ClipView(
        mode="global_norm" if together else clip.mode,
        stock=not own,
        constants=clip_constants(plan, with_eps=own),
        exempt=without_roles(clip.exempt, features),
        parameters="clipped" if clip.exempt else weights.all,
    )
