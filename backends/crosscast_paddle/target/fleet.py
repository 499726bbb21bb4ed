"""Plan and Frame to a static graph that paddle.distributed.fleet builds: AMP and gradient merge."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files, start_view
from crosscast.emit.loss import loss_view
from crosscast.emit.lowering import clip_constants, divisor
from crosscast.emit.render import py_literal
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
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan import operations as ops
from crosscast.plan import predicates
from crosscast.targets.backend import Dialect, File, Form
from crosscast_paddle.target.adaptations import PaddleAdaptation
from crosscast_paddle.target.optimizer import (
    EVERYWHERE,
    OptimizerView,
    decay_constant,
    optimizer_doc,
    stock_class,
    stock_settings,
)
from crosscast_paddle.target.precision import precision_view
from crosscast_paddle.target.scaling import machine_of
from crosscast_paddle.target.script import PaddleScriptView, PaddleSpelling, launcher_view, reseed

STATIC = "static"
"""Feature of a dialect whose script is a static graph."""
FLEET = Dialect(
    name="fleet",
    title="Paddle 2.6, static graphs by fleet",
    oldest="2.6",
    until="3.0",
    requirements=(
        "# On a GPU install paddlepaddle-gpu of the same version instead, as Paddle's guide says.",
        "paddlepaddle>=2.6,<3  # fleet's static graphs do not build with Paddle 3",
        "protobuf<7  # fleet's DistributedStrategy reads what 7 took away",
        "numpy>=1.22,<2  # what Paddle 2.6 was built for",
        "safetensors>=0.6",
    ),
    features=frozenset({STATIC}),
)
_ENDINGS = {
    "bias": (".bias",),
    "layer_norm": (".LayerNorm.weight", ".LayerNorm.bias"),
    "embedding": ("_embeddings.weight",),
}
_TEMPLATES = {
    "train.py": "paddle/fleet/train.py.j2",
    "model.py": "paddle/fleet/model.py.j2",
    "launch.sh": "paddle/launch.sh.j2",
    "requirements.txt": "paddle/requirements.txt.j2",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView(PaddleScriptView):
    """What the templates of static graphs see."""

    merges: bool
    """Whether fleet merges the gradients of a window."""
    clip: ops.Clip
    clipped_norm: str
    """What the limit is compared with, as code."""
    clip_constants: tuple[str, ...]

    @property
    def math(self) -> bool:
        """Whether the module `math` is used."""
        return self.schedule.math or self.scaling.scaled


def files(plan: ops.Plan, frame: Frame, dialect: Dialect, form: Form) -> tuple[File, ...]:
    """Return the files of a static graph.

    Raises:
        DiagnosticError: CC386 for the form `step`: the step is part of a program.
    """
    if form == "step":
        raise DiagnosticError(
            Diagnostic(
                code="CC386",
                message=f"paddle@{dialect.name}: the step is part of a program, not a function",
                hint="leave --form step out",
            )
        )
    return _files(frame, _view(plan, frame, dialect))


def _view(plan: ops.Plan, frame: Frame, dialect: Dialect) -> FleetView:
    has = plan.adapted.__contains__
    half, amp = predicates.half_type(plan), has(PaddleAdaptation.AMP)
    merges, own_clip = has(PaddleAdaptation.MERGE), has(PaddleAdaptation.OWN_CLIP)
    step, model, rows = step_view(plan, frame), model_view(frame, "paddle"), rows_view(frame)
    optimizer = _optimizer(plan.get(ops.Step))
    run = RunView(
        made_for=dialect.title,
        since=dialect.oldest,
        until=dialect.until,
        output=f"runs/{frame.name}-paddle-{dialect.name}",
        accumulation_steps="ACCUMULATION_STEPS" if merges else "",
        betas=optimizer.betas,
        half=half if has(PaddleAdaptation.REQUIRED_AMP) else "",
    )
    tracking = tracking_view(frame, "tensorboardX", events=has(PaddleAdaptation.EVENT_FILES))
    return FleetView(
        header=script_header(frame, dialect.title, "script"),
        form="script",
        step=step,
        loss=loss_view(plan, frame, "paddle"),
        metrics=metrics_view(frame, "paddle"),
        schedule=schedule_view(plan),
        scaling=scaling_view(plan, machine_of(plan, flags=False)),
        model=model,
        rows=rows,
        launch=start_view(frame),
        settings=settings_lines(plan, frame, run),
        reseed=reseed(model, step),
        requirements=dialect.requirements + rows.library + tracking.packages,
        tracking=tracking,
        static=True,
        recomputes=frame.recomputes,
        precision=precision_view(plan, frame, half if amp else ""),
        optimizer=optimizer,
        constant_scale=has(PaddleAdaptation.CONSTANT_SCALE),
        divisor=divisor(plan.get(ops.Normalize), step.distributed),
        launcher=launcher_view(frame),
        launch_flags=(),
        merges=merges,
        clip=plan.get(ops.Clip),
        clipped_norm="norm + CLIP_EPS" if own_clip else "norm",
        clip_constants=clip_constants(plan, with_eps=own_clip),
    )


def _optimizer(step: ops.Step) -> OptimizerView:
    """Return the view of an optimizer that the rows accept."""
    constants, arguments = stock_settings(step)
    if decay := decay_constant(step):
        arguments = (*arguments, "weight_decay=WEIGHT_DECAY")
    endings: tuple[str, ...] = ()
    if step.optimizer == "adamw" and step.weight_decay:
        endings = tuple(end for role in step.no_decay for end in _ENDINGS[role])
    if endings:
        decay = (*decay, f"NO_DECAY = {py_literal(tuple(dict.fromkeys(endings)))}")
        arguments = (*arguments, "apply_decay_param_fun=decaying.__contains__")
    cls = stock_class(step)
    return OptimizerView(
        op=step,
        cls=cls,
        doc=optimizer_doc(cls, step, "but for what has none" if endings else EVERYWHERE),
        own=None,
        form="names" if endings else "",
        constants=(*constants, *decay),
        arguments=arguments,
    )


def _files(frame: Frame, view: FleetView) -> tuple[File, ...]:
    context = {"view": view}
    files = (
        File(path=path, template=template, view=context, executable=path == "launch.sh")
        for path, template in _TEMPLATES.items()
    )
    spelling = PaddleSpelling(flags=False, recomputes_on_cpu=True)
    modules = {"device": "paddle", "loader": "paddle", "state": "paddle/fleet"}
    runtime = runtime_files(modules | {"workers": "_shared"}, spelling)
    return (*files, *runtime, *job_files(frame, context))
