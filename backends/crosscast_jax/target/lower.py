"""Plan and Frame to JAX: the view that its templates print."""

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
    ScriptView,
    machine_view,
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
from crosscast.recipe.document import BertModel
from crosscast.targets.backend import Dialect, File, Form
from crosscast_jax.target.adaptations import JaxAdaptation
from crosscast_jax.target.clip import ClipView, clip_view
from crosscast_jax.target.optimizer import OptimizerView, optimizer_view
from crosscast_jax.target.roles import Choice
from crosscast_jax.target.types import TypesView, types_view

_FORWARD = (ops.Autocast, ops.Normalize, ops.Scale)
"""What the function does whose gradients a micro-batch adds."""
_BETWEEN = (ops.AllReduce,)
"""What is between the sums of a window and its step."""
_HOST = (ops.Schedule, ops.UpdateScale)
"""What Python does after the compiled part of a window: it counts, and reads no gradients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JaxView(ScriptView):
    """What the templates see."""

    types: TypesView
    optimizer: OptimizerView
    clip: ClipView
    divisor: str
    """Divisor of the loss of a micro-batch, as code."""
    recomputes: bool
    """Whether the backward pass recomputes the activations of the encoder layers."""
    half_sums: bool
    """Whether gradients are added up in half."""
    skips: bool
    """Whether a step that overflows leaves everything as it is."""
    seed: str
    """Where random numbers start, as code."""

    @property
    def math(self) -> bool:
        """Whether the step uses the module `math`."""
        corrects = self.optimizer.own == "adam" and self.optimizer.corrected
        return self.schedule.math or self.scaling.machine is not None or corrects

    @property
    def model_weights(self) -> str:
        """What the model gets as weights, as code."""
        return "half_copies(graph, arrays)" if self.types.copies else "arrays.weights"

    @property
    def random(self) -> bool:
        """Whether a window draws random numbers."""
        return self.model.has_dropout

    @property
    def paths(self) -> bool:
        """Whether the script asks for paths of weights."""
        optimizer, types = self.optimizer, self.types
        spares = optimizer.roles is not None or self.clip.exempt is not None
        return spares or bool(optimizer.groups) or (types.copies and types.spared)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Functions that tell of every weight whether something applies to it."""
        told = {
            "decays": ("whether weight decay applies to it", self.optimizer.roles),
            "clips": ("whether its gradient is clipped, and counts in the norm", self.clip.exempt),
        }
        return tuple(
            Choice(name=name, doc=f"Tell of every weight {doc}.", spared=spared)
            for name, (doc, spared) in told.items()
            if spared
        )

    @property
    def state_names(self) -> str:
        """What train.py imports of `runtime.state`."""
        names = {
            "check_model": self.model.bert is None,
            "named_parameters": bool(self.optimizer.groups),
            "reseeded": self.random,
        }
        return ", ".join(name for name, used in names.items() if used)


@dataclass(frozen=True, slots=True, kw_only=True)
class JaxCode:
    """The printed operations, by where they are in the script."""

    forward: str
    """Those whose gradients are computed."""
    micro: str
    """Those of a micro-batch after them."""
    reduction: str
    """The exchange between processes, after the micro-batches."""
    graph: str
    """Those of a window that are compiled."""
    host: str


def files(
    plan: ops.Plan, frame: Frame, dialect: Dialect, templates: Path, form: Form
) -> tuple[File, ...]:
    """Return the files of a plan."""
    view = _view(plan, frame, dialect, form)
    context = {"view": view, "code": _code(plan, templates, view)}
    if form == "step":
        return (File(path="step.py", template="jax/step.py.j2", view=context),)
    own = ("model.py",) if isinstance(frame.model, BertModel) else ()
    scripts = (
        File(path=n, template=f"jax/{n}.j2", view=context, executable=n == "launch.sh")
        for n in ("train.py", *own, "launch.sh", "requirements.txt")
    )
    modules = ("device", "loader", "state", *(("processes",) if view.step.distributed else ()))
    runtime = runtime_files(dict.fromkeys(modules, "jax"), None)
    return (*scripts, *runtime, *job_files(frame, context))


def _view(plan: ops.Plan, frame: Frame, dialect: Dialect, form: Form) -> JaxView:
    has = plan.adapted.__contains__
    update = plan.get(ops.UpdateScale) if has(JaxAdaptation.LOSS_SCALE) else None
    rows = rows_view(frame)
    events = JaxAdaptation.EVENT_FILES in plan.adapted
    tracking = tracking_view(frame, "tensorboardX", events=events)
    run = RunView(
        made_for=dialect.title,
        since=dialect.since,
        output=f"runs/{frame.name}-jax",
        accumulation_steps="ACCUMULATION_STEPS",
    )
    return JaxView(
        header=script_header(frame, dialect.title, form),
        form=form,
        step=step_view(plan, frame),
        loss=loss_view(plan, frame, "jax"),
        metrics=metrics_view(frame, "jax"),
        schedule=schedule_view(plan),
        scaling=scaling_view(plan, machine_view(update) if update else None),
        model=model_view(frame, "jax"),
        rows=rows,
        launch=start_view(frame),
        settings=settings_lines(plan, frame, run) if form == "script" else (),
        reseed="",
        requirements=dialect.requirements + rows.library + tracking.packages,
        tracking=tracking,
        types=types_view(plan, frame),
        optimizer=optimizer_view(plan),
        clip=clip_view(plan),
        divisor=_divisor(plan),
        recomputes=has(JaxAdaptation.RECOMPUTATION),
        skips=has(JaxAdaptation.LOSS_SCALE) or has(JaxAdaptation.CONSTANT_SCALE),
        half_sums=predicates.half_sums(plan),
        seed="SETTINGS.seed" if form == "script" else str(frame.seed),
    )


def _divisor(plan: ops.Plan) -> str:
    """Return the divisor as the only argument of a call, which needs no brackets of its own."""
    text = divisor(plan.get(ops.Normalize), distributed=predicates.parallel(plan))
    return text[1:-1] if text.startswith("(") else text


def _code(plan: ops.Plan, templates: Path, view: JaxView) -> JaxCode:
    """Print the operations by where they are: in the loss, in compiled functions, in Python."""

    def text(part: tuple[ops.Op, ...], by: int) -> str:
        return print_ops(templates, "jax/ops", part, view, by)

    return JaxCode(
        forward=text(tuple(op for op in plan.micro if isinstance(op, _FORWARD)), 8),
        micro=text(tuple(op for op in plan.micro if not isinstance(op, _FORWARD)), 4),
        reduction=text(tuple(op for op in plan.window if isinstance(op, _BETWEEN)), 4),
        graph=text(tuple(op for op in plan.window if not isinstance(op, _BETWEEN + _HOST)), 4),
        host=text(tuple(op for op in plan.window if isinstance(op, _HOST)), 4),
    )
