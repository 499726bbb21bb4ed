"""What the templates of PyTorch see of a script or a step."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.emit.view import ScriptView
from crosscast_torch.target.api import TorchSpelling
from crosscast_torch.target.clip import ClipView
from crosscast_torch.target.optimizer import OptimizerView, WeightsView
from crosscast_torch.target.scaler import ScalerView
from crosscast_torch.target.types import TypesView


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchView(ScriptView):
    """A script or a step for an API generation of PyTorch."""

    spelling: TorchSpelling
    types: TypesView
    weights: WeightsView
    optimizer: OptimizerView
    clip: ClipView
    scaler: ScalerView | None
    averages: bool
    """Whether the script averages the weights."""
    divisor: str
    """What the loss of a micro-batch is divided by, as code."""
    rate_lines: tuple[str, ...]
    """What sets the rate of a window, and makes up for Adam's corrections."""
    compile: bool
    recomputes: bool
    """Whether backward recomputes the activations of the layers."""
    launcher: tuple[str, ...]
    """Module and options of the launcher, as lines."""

    @property
    def uses_contextlib(self) -> bool:
        """Whether all micro-batches but the last run without a reduction of gradients."""
        return self.step.distributed and not self.weights.masters

    @property
    def uses_math(self) -> bool:
        """Whether the module `math` is needed."""
        grows = self.scaler is not None and self.scaler.grows_to_inf
        return (
            self.schedule.math or self.optimizer.math or self.scaling.machine is not None or grows
        )

    @property
    def uses_field(self) -> bool:
        """Whether a field of the state has a factory."""
        return self.scaling.machine is not None or self.averages

    @property
    def module(self) -> str:
        """The model to evaluate, as code."""
        return "state.model.module" if self.step.distributed else "state.model"
