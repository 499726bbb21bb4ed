"""Plan and Frame to TensorFlow: the view that its templates print."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files
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
from crosscast_tensorflow.target.adaptations import TensorflowAdaptation
from crosscast_tensorflow.target.clipping import ClipView, clip_view
from crosscast_tensorflow.target.keras import KerasSpelling, spelling
from crosscast_tensorflow.target.optimizer import OptimizerView, optimizer_view
from crosscast_tensorflow.target.overrides import TensorflowOverrides
from crosscast_tensorflow.target.parallel import (
    FunctionsView,
    functions_view,
    launch_view,
    parallel_advice,
)
from crosscast_tensorflow.target.precision import (
    PrecisionView,
    StateView,
    precision_view,
    state_view,
)
from crosscast_tensorflow.target.types import TypesView, types_view

_OWN_SEED = "state.model, SETTINGS.seed, state.windows"
"""What the dropout of a model of the user's own depends on, besides the process."""
_HOST = (ops.Schedule, ops.UpdateScale)
"""What Python does after the compiled part of a window: it counts, and reads no gradients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorflowView(ScriptView):
    """What the templates see."""

    spelling: KerasSpelling
    precision: PrecisionView
    types: TypesView
    state: StateView
    optimizer: OptimizerView
    clip: ClipView
    functions: FunctionsView
    divisor: str
    """Divisor of the loss of a micro-batch, as code."""
    recomputes: bool
    """Whether the backward pass recomputes the activations of the encoder layers."""
    constant_scale: bool
    """Whether an overflow skips a step without changing the loss scale."""
    across_nodes: bool
    """Whether launch.sh finds out the addresses of several nodes."""

    @property
    def math(self) -> bool:
        """Whether the step uses the module `math`."""
        return self.schedule.math or self.scaling.machine is not None

    @property
    def state_names(self) -> str:
        """What train.py imports of `runtime.state`."""
        own_model = self.model.bert is None
        names = {
            "check_model": own_model,
            "named_parameters": self.optimizer.grouped,
            "reseed": own_model and self.spelling.keras3,
        }
        return ", ".join(name for name, used in names.items() if used)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorflowCode:
    """The printed operations, by where they are in the script."""

    tape: str
    """Those of a micro-batch that the tape records."""
    micro: str
    """Those of a micro-batch after them."""
    reduce: str
    """The mean over the processes."""
    graph: str
    """Those of a window that are compiled."""
    host: str


def files(
    plan: ops.Plan, frame: Frame, dialect: Dialect, templates: Path, form: Form
) -> tuple[File, ...]:
    """Return the files for a generation of Keras."""
    view = _view(plan, frame, dialect, form)
    context = {"view": view, "code": _code(plan, templates, view)}
    if form == "step":
        return (File(path="step.py", template="tensorflow/step.py.j2", view=context),)
    own = ("model.py",) if isinstance(frame.model, BertModel) else ()
    scripts = (
        File(path=n, template=f"tensorflow/{n}.j2", view=context, executable=n == "launch.sh")
        for n in ("train.py", *own, "launch.sh", "requirements.txt")
    )
    modules = ("device", "loader", "state", *(("processes",) if predicates.parallel(plan) else ()))
    runtime = runtime_files(dict.fromkeys(modules, "tensorflow"), view.spelling)
    return (*scripts, *runtime, *job_files(frame, context))


def _view(plan: ops.Plan, frame: Frame, dialect: Dialect, form: Form) -> TensorflowView:
    overrides = TensorflowOverrides.model_validate(frame.overrides.get("tensorflow", {}))
    has = plan.adapted.__contains__
    keras, precision = spelling(dialect), precision_view(plan, frame)
    header = script_header(frame, dialect.title, form)
    update = plan.get(ops.UpdateScale) if has(TensorflowAdaptation.LOSS_SCALE) else None
    several, rows = predicates.parallel(plan), rows_view(frame)
    tracking = tracking_view(frame)
    by = divisor(plan.get(ops.Normalize), several)
    return TensorflowView(
        header=(*header, *_advice(plan, keras, precision)) if form == "step" else header,
        form=form,
        step=step_view(plan, frame),
        loss=loss_view(plan, frame, "tensorflow"),
        metrics=metrics_view(frame, "tensorflow"),
        schedule=schedule_view(plan),
        scaling=scaling_view(plan, machine_view(update) if update else None),
        model=model_view(frame, "tensorflow"),
        rows=rows,
        launch=launch_view(frame),
        settings=_settings(plan, frame, dialect) if form == "script" else (),
        reseed=_reseed(plan, frame, keras),
        requirements=dialect.requirements + rows.library + tracking.packages,
        tracking=tracking,
        spelling=keras,
        precision=precision,
        types=types_view(plan, frame),
        state=state_view(plan),
        optimizer=optimizer_view(plan),
        clip=clip_view(plan),
        functions=functions_view(plan, dialect, jit_compile=overrides.jit_compile),
        divisor=by[1:-1] if several else by,  # without brackets
        recomputes=has(TensorflowAdaptation.RECOMPUTATION),
        constant_scale=has(TensorflowAdaptation.CONSTANT_SCALE),
        across_nodes=has(TensorflowAdaptation.WORKERS_OF_NODES),
    )


def _settings(plan: ops.Plan, frame: Frame, dialect: Dialect) -> tuple[str, ...]:
    rewrite = TensorflowAdaptation.GRAPH_REWRITE in plan.adapted
    run = RunView(
        made_for=dialect.title,
        # Keras 2 also comes as tf_keras beside a newer TensorFlow: select_device looks at Keras.
        since=dialect.since or dialect.oldest,
        output=f"runs/{frame.name}-tensorflow",
        accumulation_steps="ACCUMULATION_STEPS",
        half=predicates.half_type(plan) if rewrite else "",
    )
    return settings_lines(plan, frame, run)


def _reseed(plan: ops.Plan, frame: Frame, keras: KerasSpelling) -> str:
    """Return the statement that makes the masks of a window; empty for none."""
    rank = ", run.rank" if predicates.parallel(plan) else ""
    if isinstance(frame.model, BertModel):  # which draws from one seed
        return f"reseed(state{rank})" if frame.model.dropout else ""
    # Layers of Keras 2 have no seed that could be set.
    return f"reseed({_OWN_SEED}{rank})" if keras.keras3 else ""


def _advice(plan: ops.Plan, keras: KerasSpelling, precision: PrecisionView) -> tuple[str, ...]:
    """Return the requests of a step's head to the program around it, as lines."""
    policy = f'Call {keras.set_policy}("{precision.policy}") before you build the model.'
    rewrite = "Call tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite before, too."
    return (policy, *((rewrite,) if precision.rewrite else ()), *parallel_advice(plan))


def _code(plan: ops.Plan, templates: Path, view: TensorflowView) -> TensorflowCode:
    """Print the operations: recorded by the tape or not, compiled for the window or not."""

    def text(part: tuple[ops.Op, ...], by: int) -> str:
        return print_ops(templates, "tensorflow/ops", part, view, by)

    taped = next(i for i, op in enumerate(plan.micro) if isinstance(op, ops.Backward))
    own_reduction = TensorflowAdaptation.OWN_REDUCTION in plan.adapted
    reduce = tuple(op for op in plan.window if own_reduction and isinstance(op, ops.AllReduce))
    graph = tuple(op for op in plan.window if not isinstance(op, (*_HOST, ops.AllReduce)))
    return TensorflowCode(
        tape=text(plan.micro[:taped], 8),
        micro=text(plan.micro[taped:], 4),
        reduce=text(reduce, 4),
        graph=text(graph, 4),
        host=text(tuple(op for op in plan.window if isinstance(op, _HOST)), 4),
    )
