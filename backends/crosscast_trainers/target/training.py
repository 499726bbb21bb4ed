"""What the emitted Python of layers on PyTorch shares: optimizer, schedule, loss scale."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.emit.frame import frame_of
from crosscast.emit.view import (
    ScalingView,
    ScheduleView,
    StepView,
    header,
    scaling_view,
    schedule_view,
    step_view,
)
from crosscast.plan.operations import Clip, Plan
from crosscast.recipe.document import Recipe
from crosscast_torch.target.dialects import DIALECTS
from crosscast_torch.target.optimizer import OptimizerView, WeightsView, optimizer_view
from crosscast_torch.target.overrides import TorchOverrides
from crosscast_torch.target.rows import adapted_plan

_UNFUSED = TorchOverrides(fused_optimizer=False)
"""A fused optimizer does not tell trainers of a skipped step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingView:
    """What templates of Python on PyTorch see, whatever the layer."""

    header: tuple[str, ...]
    seed: int
    micro_batch_size: int
    shuffle: bool
    tf32: bool
    step: StepView
    schedule: ScheduleView
    scaling: ScalingView
    clip: Clip
    optimizer: OptimizerView
    weights: WeightsView

    @property
    def uses_math(self) -> bool:
        """Whether the module `math` is needed."""
        return self.schedule.math or self.optimizer.math


def training_view(recipe: Recipe, title: str) -> TrainingView:
    """Return the view of a recipe."""
    plan, frame = torch_plan(recipe), frame_of(recipe)
    return TrainingView(
        header=header(frame, f"training with {title}"),
        seed=frame.seed,
        micro_batch_size=frame.micro_batch_size,
        shuffle=frame.data.shuffle,
        tf32=frame.tf32,
        step=step_view(plan, frame),
        schedule=schedule_view(plan),
        scaling=scaling_view(plan),
        clip=plan.get(Clip),
        optimizer=torch_optimizer(plan),
        weights=WeightsView(masters=False, collects=""),
    )


def torch_plan(recipe: Recipe) -> Plan:
    """Return the training step as the newest PyTorch runs it."""
    return adapted_plan(recipe, DIALECTS[0])


def torch_optimizer(plan: Plan) -> OptimizerView:
    """Return the view of the optimizer."""
    return optimizer_view(plan, _UNFUSED, DIALECTS[0].features)
