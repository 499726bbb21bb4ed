"""GradScaler: how it is made, and what makes up for what it cannot do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.emit.view import ScalingView, machine_view, scaling_view
from crosscast.plan import predicates
from crosscast.plan.operations import Plan, UpdateScale
from crosscast_torch.target.adaptations import TorchAdaptation

_NEVER = "2**31 - 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalerView:
    """The scaler of a script whose loss is scaled."""

    doc: str
    arguments: tuple[str, ...]
    then: Literal["", "constant", "machine", "bounds"] = ""
    """What sets the scale after the scaler's own update."""
    grows_to_inf: bool = False
    """Whether inf is undone, too."""


def scaler_view(plan: Plan) -> ScalerView | None:
    """Return the view of the scaler."""
    has = plan.adapted.__contains__
    if not predicates.scaled(plan):
        return None
    if has(TorchAdaptation.CONSTANT_SCALE):
        return ScalerView(
            doc="Constant loss scale: it backs off only to tell of a skipped step (CC312).",
            arguments=("init_scale=LOSS_SCALE", f"growth_interval={_NEVER}"),
            then="constant",
        )
    if has(TorchAdaptation.LOSS_SCALE):
        return ScalerView(
            doc="Scales and skips; LossScale decides about the scale (CC311).",
            arguments=("init_scale=INIT_SCALE", f"growth_interval={_NEVER}"),
            then="machine",
        )
    names = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
    bounded, grows_to_inf = has(TorchAdaptation.SCALE_BOUNDS), has(TorchAdaptation.FINITE_GROWTH)
    bounds = "; train_window keeps it within its bounds (CC310)" if bounded else ""
    return ScalerView(
        doc=f"Dynamic loss scale{bounds}.",
        arguments=tuple(f"{name}={name.upper()}" for name in names),
        then="bounds" if bounded or grows_to_inf else "",
        grows_to_inf=grows_to_inf,
    )


def torch_scaling(plan: Plan) -> ScalingView:
    """Return the view of the loss scale, with the script's own LossScale if a row asked for it."""
    machine = TorchAdaptation.LOSS_SCALE in plan.adapted
    return scaling_view(plan, machine_view(plan.get(UpdateScale)) if machine else None)
