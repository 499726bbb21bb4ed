"""Plan and Frame to Paddle: the view that its templates print."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files, start_view
from crosscast.emit.loss import loss_view
from crosscast.emit.lowering import divisor, print_ops
from crosscast.emit.runtime import RunView, runtime_files, settings_lines
from crosscast.emit.tracking import tracking_view
from crosscast.emit.view import (
    metrics_view,
    model_view,
    rows_view,
    scaling_view,
    schedule_view,
    script_header,
    step_view,
)
from crosscast.plan import operations as ops
from crosscast.plan import predicates
from crosscast.targets.backend import Dialect, File, Form
from crosscast_paddle.target.adaptations import PaddleAdaptation
from crosscast_paddle.target.clipping import ClipView, clip_view
from crosscast_paddle.target.optimizer import optimizer_view
from crosscast_paddle.target.overrides import PaddleOverrides
from crosscast_paddle.target.precision import auto_cast, precision_view
from crosscast_paddle.target.scaling import launch_flags, machine_of, scale_code
from crosscast_paddle.target.script import PaddleScriptView, PaddleSpelling, launcher_view, reseed


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddleView(PaddleScriptView):
    """What the templates of dynamic graphs see."""

    auto_cast: str
    """The context manager of the forward pass, as code; empty for none."""
    late_sums: bool
    """Whether gradients of half weights are cast behind the last micro-batch."""
    scale: str
    """The loss scale of a window, as code."""
    clip: ClipView

    @property
    def math(self) -> bool:
        """Whether the module `math` is used."""
        return self.schedule.math or self.scaling.machine is not None or self.optimizer.numbered

    @property
    def field(self) -> bool:
        """Whether `dataclasses.field` is used."""
        averages = self.step.ema_decay is not None
        return averages or self.scaling.machine is not None or self.precision.half_weights

    @property
    def wrapped(self) -> bool:
        """Whether the model is in DataParallel, which would reduce half gradients in half."""
        return self.step.distributed and not self.precision.half_weights

    @property
    def module(self) -> str:
        """The model itself, as code."""
        return "state.model._layers" if self.wrapped else "state.model"

    @property
    def early_norm(self) -> bool:
        """Whether the norm is taken before gradients are unscaled, which hides overflows."""
        return self.scaling.scaled and bool(self.clip.exempt)

    @property
    def flag_types(self) -> str:
        """What train.py imports of the types of flags."""
        if self.scaling.op and self.scaling.machine:
            names = "above_one, below_one, boolean, scale_between"
            bounded = self.scaling.op.max_scale is not None
            return names if bounded else f"LARGEST_SCALE, {names}"
        if self.scaling.scaled:
            return "LARGEST_SCALE, boolean, false, scale_between"
        return "boolean" if self.precision.half else "false"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddleCode:
    """The printed operations."""

    micro: str
    window: str


def files(
    plan: ops.Plan, frame: Frame, templates: Path, dialect: Dialect, form: Form
) -> tuple[File, ...]:
    """Return the files for a dialect of dynamic graphs."""
    view = _view(plan, frame, dialect, form)
    code = PaddleCode(
        micro=print_ops(templates, "paddle/ops", plan.micro, view, 12 if view.wrapped else 8),
        window=print_ops(templates, "paddle/ops", plan.window, view, 4),
    )
    return _files(frame, view, code, dialect)


def _view(plan: ops.Plan, frame: Frame, dialect: Dialect, form: Form) -> PaddleView:
    overrides = PaddleOverrides.model_validate(frame.overrides.get("paddle", {}))
    has, half = plan.adapted.__contains__, predicates.half_type(plan)
    step, model, rows = step_view(plan, frame), model_view(frame, "paddle"), rows_view(frame)
    precision, optimizer = precision_view(plan, frame, half), optimizer_view(plan)
    run = RunView(
        made_for=dialect.title,
        since=dialect.since,
        until=dialect.until,
        output=f"runs/{frame.name}-paddle",
        betas=optimizer.betas,
        half=half if has(PaddleAdaptation.REQUIRED_AMP) else "",
        recomputed_dropout=has(PaddleAdaptation.GPU_RECOMPUTATION),
    )
    tracking = tracking_view(frame, "tensorboardX", events=has(PaddleAdaptation.EVENT_FILES))
    return PaddleView(
        header=script_header(frame, dialect.title, form),
        form=form,
        step=step,
        loss=loss_view(plan, frame, "paddle"),
        metrics=metrics_view(frame, "paddle"),
        schedule=schedule_view(plan),
        scaling=scaling_view(plan, machine_of(plan, flags=form == "script")),
        model=model,
        rows=rows,
        launch=start_view(frame),
        settings=settings_lines(plan, frame, run) if form == "script" else (),
        reseed=reseed(model, step),
        requirements=dialect.requirements + rows.library + tracking.packages,
        tracking=tracking,
        main_arguments="SETTINGS, train, argv, add_options",
        static=False,
        recomputes=frame.recomputes,
        precision=precision,
        optimizer=optimizer,
        constant_scale=has(PaddleAdaptation.CONSTANT_SCALE),
        divisor=divisor(plan.get(ops.Normalize), step.distributed),
        launcher=launcher_view(frame),
        launch_flags=launch_flags(plan),
        auto_cast=auto_cast(plan, precision, overrides.amp_level, form),
        late_sums=has(PaddleAdaptation.LATE_SUMS),
        scale=scale_code(plan, form),
        clip=clip_view(plan, half_weights=precision.half_weights),
    )


def _files(frame: Frame, view: PaddleView, code: PaddleCode, dialect: Dialect) -> tuple[File, ...]:
    context = {"view": view, "code": code}

    def file(path: str, *, executable: bool = False) -> File:
        template = f"paddle/{path}.j2"
        return File(path=path, template=template, view=context, executable=executable)

    if view.form == "step":
        return (file("step.py"),)
    modules = dict.fromkeys(("device", "flags", "loader", "state"), "paddle")
    modules["workers"] = "_shared"
    spelling = PaddleSpelling(flags=True, recomputes_on_cpu=not dialect.until)
    return (
        file("train.py"),
        *((file("model.py"),) if view.model.bert else ()),
        *runtime_files(modules, spelling),
        file("launch.sh", executable=True),
        file("requirements.txt"),
        *job_files(frame, context),
    )
