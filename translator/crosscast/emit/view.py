"""What the templates of a script see: frozen dataclasses of ready values.

Backends add the parts of their own to `ScriptView`. Templates read attributes and decide nothing
that is not an attribute; `tests/emission/test_templates.py` compares every path in a template
with these types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from crosscast import __version__
from crosscast.emit.frame import Frame
from crosscast.emit.launching import StartView
from crosscast.emit.loss import LossView
from crosscast.emit.lowering import import_lines
from crosscast.emit.render import py_literal
from crosscast.emit.tracking import TrackingView
from crosscast.plan import predicates
from crosscast.plan.operations import Ema, LossUnit, Normalize, Plan, Schedule, UpdateScale
from crosscast.recipe.document import BertModel, CustomData
from crosscast.targets.backend import Form

WIDTH = 88


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """The training step, but for what depends on the framework."""

    processes: int
    accumulation_steps: int
    """Micro-batches of a full window, for each process."""
    unit: LossUnit
    """What a summed loss is divided by the number of."""
    tick: Literal["update", "attempt"]
    """What the schedule counts."""
    rate: Literal["LEARNING_RATE", "lr"]
    """The learning rate of a window, as code."""
    ema_decay: float | None
    """Decay of the averaged weights; None for no averages."""

    @property
    def distributed(self) -> bool:
        """Whether there are several processes."""
        return self.processes > 1

    @property
    def tokens(self) -> bool:
        """Whether the loss is of labels, not of rows."""
        return self.unit == "token"

    @property
    def reduction(self) -> Literal["mean", "sum"]:
        """How the losses of a micro-batch become one number."""
        return "mean" if self.unit == "microbatch" else "sum"

    @property
    def position(self) -> str:
        """The argument of the schedule, as code."""
        return "state.updates" if self.tick == "update" else "state.windows"


def step_view(plan: Plan, frame: Frame) -> StepView:
    """Return the view of a training step."""
    average = plan.find(Ema)
    return StepView(
        processes=predicates.processes(plan),
        accumulation_steps=frame.micro_batches,
        unit=plan.get(Normalize).unit,
        tick=plan.get(Schedule).tick,
        rate="LEARNING_RATE" if predicates.constant_rate(plan) else "lr",
        ema_decay=None if average is None else average.decay,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """The learning rate: the operation, and its formula as code."""

    op: Schedule
    constant: bool
    """Whether the rate is one number, which needs no function."""
    decays: bool
    """Whether it ends at `END_LEARNING_RATE`."""
    counts_down: bool
    """Whether the formula has `TOTAL_STEPS`."""
    progress: str
    """How much of the decay is over, 0 to 1."""
    remaining: str
    """How much of the rate is left, 0 to 1."""

    @property
    def math(self) -> bool:
        """Whether the formula uses the module `math`."""
        return self.op.name in ("cosine", "inverse_sqrt")


_REMAINING = {
    "linear": "1.0 - progress",
    "polynomial": "(1.0 - progress) ** POWER",
    "cosine": "0.5 * (1.0 + math.cos(math.pi * progress))",
}


def schedule_view(plan: Plan) -> ScheduleView:
    """Return the view of the learning rate."""
    op = plan.get(Schedule)
    warm = op.warmup_steps > 0 and op.decay_from == "warmup_end"
    length = op.total_steps - op.warmup_steps if warm else op.total_steps
    since = "(position - WARMUP_STEPS)" if warm else "position"
    over = "(TOTAL_STEPS - WARMUP_STEPS)" if warm else "TOTAL_STEPS"
    falls = op.name in _REMAINING
    return ScheduleView(
        op=op,
        constant=predicates.constant_rate(plan),
        decays=falls,
        counts_down=(falls and length > 0) or op.name == "inverse_sqrt",
        # With a warm-up over the whole length the divisor is 0; the rate is the end rate.
        progress=f"min(1.0, {since} / {over})" if length > 0 else "1.0",
        remaining=_REMAINING.get(op.name, ""),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineView:
    """The class LossScale of a script: where its rule is, and what it holds beside its state."""

    growth_factor: str = "GROWTH_FACTOR"
    backoff_factor: str = "BACKOFF_FACTOR"
    growth_interval: str = "GROWTH_INTERVAL"
    hysteresis: str = "HYSTERESIS"
    counts_overflows: Literal["", "consecutive", "cumulative"]
    """How it counts overflows; empty if it backs off at each of them."""
    fields: tuple[str, ...] = ()
    """Fields of the class that hold parts of the rule, as code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingView:
    """The loss scale; `op` is None for none."""

    op: UpdateScale | None
    machine: MachineView | None
    """Of the script's own LossScale; None where it has none."""

    @property
    def scaled(self) -> bool:
        """Whether the loss is scaled."""
        return self.op is not None

    @property
    def dynamic(self) -> bool:
        """Whether the scale changes."""
        return self.op is not None and self.op.mode == "dynamic"


def machine_view(update: UpdateScale) -> MachineView:
    """Return the view of a LossScale whose rule is in the constants of the script."""
    at_once = update.hysteresis == 1 and update.hysteresis_mode == "consecutive"
    return MachineView(counts_overflows="" if at_once else update.hysteresis_mode)


def scaling_view(plan: Plan, machine: MachineView | None = None) -> ScalingView:
    """Return the view of the loss scale."""
    return ScalingView(op=plan.find(UpdateScale), machine=machine)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelView:
    """The model: the shipped BERT or a factory of the user's."""

    bert: BertModel | None
    factory: str | None
    """`package.module:function` of the user's factory; None for the shipped model."""

    @property
    def has_dropout(self) -> bool:
        """Whether the forward pass may draw random numbers."""
        return self.bert is None or self.bert.dropout > 0


def model_view(frame: Frame, backend: str) -> ModelView:
    """Return the view of a model in a backend."""
    if isinstance(frame.model, BertModel):
        return ModelView(bert=frame.model, factory=None)
    return ModelView(bert=None, factory=frame.model.factory[backend])


_LIBRARIES = {"parquet": "pyarrow", "datasets": "datasets", "images": "pillow"}
"""What a source of rows needs besides NumPy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsView:
    """The data set."""

    functions: Mapping[str, str]
    """The user's functions that open it: name in the script to `package.module:function`."""
    library: tuple[str, ...]
    """What must be installed to read it."""


def rows_view(frame: Frame) -> RowsView:
    """Return the view of a data set."""
    data, own = frame.data, {}
    if isinstance(data, CustomData):
        own = {"train_rows": data.train, "eval_rows": data.eval}
    library = _LIBRARIES.get(data.source)
    return RowsView(functions=own, library=(library,) if library else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsView:
    """The user's metrics."""

    functions: Mapping[str, str]
    """Name to `package.module:function`."""

    @property
    def constant(self) -> str:
        """The constant that holds them, as code; empty if there are none."""
        items = [f"{py_literal(name)}: {_METRIC}{name}" for name in self.functions]
        line = f"METRICS = {{{', '.join(items)}}}"
        if len(line) <= WIDTH:
            return line if items else ""
        return "\n".join(("METRICS = {", *(f"    {item}," for item in items), "}"))


def metrics_view(frame: Frame, backend: str) -> MetricsView:
    """Return the view of the metrics in a backend."""
    own = frame.metrics.custom
    return MetricsView(functions={name: own[name][backend] for name in own})


_METRIC = "metric_"
"""Before the names of the functions in a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptView:
    """What the templates of every framework see of a script or a step."""

    header: tuple[str, ...]
    form: Form
    step: StepView
    loss: LossView
    metrics: MetricsView
    schedule: ScheduleView
    scaling: ScalingView
    model: ModelView
    rows: RowsView
    launch: StartView
    settings: tuple[str, ...]
    """Arguments of `Settings`, as lines; none for a step."""
    reseed: str
    """The statement before each window that makes its dropout masks; empty for none."""
    requirements: tuple[str, ...]
    main_arguments: str = "SETTINGS, train, argv"
    tracking: TrackingView = field(default_factory=TrackingView)

    @property
    def own_imports(self) -> tuple[str, ...]:
        """The statements that import the user's functions."""
        places = {"build_model": self.model.factory, "own_losses": self.loss.function}
        own = {name: place for name, place in places.items() if place}
        metrics = {f"{_METRIC}{name}": place for name, place in self.metrics.functions.items()}
        return import_lines({**own, **self.rows.functions, **metrics})


def header(frame: Frame, what: str) -> tuple[str, ...]:
    """Return the head of a file, as lines."""
    return (
        f"{frame.name}: {what}.",
        f"Written by crosscast {__version__} from recipe {frame.fingerprint}.",
        "Edit freely: nothing here imports crosscast.",
    )


def script_header(frame: Frame, title: str, form: Form) -> tuple[str, ...]:
    """Return the head of a script or a step for a framework of this title, as lines."""
    return header(frame, f"{'training step' if form == 'step' else 'training'} for {title}")
