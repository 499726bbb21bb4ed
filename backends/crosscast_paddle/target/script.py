"""What the scripts of dynamic and of static graphs have in common."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.emit.frame import Frame
from crosscast.emit.view import ModelView, ScriptView, StepView
from crosscast_paddle.target.optimizer import OptimizerView
from crosscast_paddle.target.precision import PrecisionView


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddleSpelling:
    """What of `runtime/` depends on the dialect."""

    flags: bool
    """Whether scripts have the flags of mixed precision."""
    recomputes_on_cpu: bool
    """Whether recomputation restores random states of a CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherView:
    """Arguments of `paddle.distributed.launch`, which several processes have."""

    log_dir: str
    no_gpus: str
    """CUDA_VISIBLE_DEVICES that hides all GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddleScriptView(ScriptView):
    """What the templates of both kinds of graphs see."""

    static: bool
    """Whether the model becomes part of a program."""
    recomputes: bool
    """Whether the backward pass recomputes the encoder layers."""
    precision: PrecisionView
    optimizer: OptimizerView
    constant_scale: bool
    """Whether the scaler keeps its scale, and no LossScale decides about it."""
    divisor: str
    """What the loss of a micro-batch is divided by, as code."""
    launcher: LauncherView | None
    launch_flags: tuple[str, ...]


def launcher_view(frame: Frame) -> LauncherView | None:
    """Return the arguments of the launcher; None for one process."""
    if frame.processes == 1:
        return None
    no_gpus = ",".join(["-1"] * frame.processes_per_node)
    return LauncherView(log_dir=f"runs/{frame.name}-paddle/log", no_gpus=no_gpus)


def reseed(model: ModelView, step: StepView) -> str:
    """Return the statement that makes a window's dropout masks; empty for none."""
    if not model.has_dropout:
        return ""
    if step.distributed:
        return "paddle.seed(SETTINGS.seed + state.windows * PROCESSES + run.rank)"
    return "paddle.seed(SETTINGS.seed + state.windows)"
