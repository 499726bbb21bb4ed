"""The Plan: one training step as an ordered tuple of small operations, and its order rules.

A Plan is consumed twice: backends print it (one template per operation) and
`crosscast.reference` runs it. `micro` runs for every micro-batch of a window, `window` once per
window after the last micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeVar

Dtype = Literal["float32", "float16", "bfloat16"]
LossUnit = Literal["sample", "microbatch", "token"]
Role = Literal["bias", "layer_norm", "embedding"]
ScheduleName = Literal["constant", "linear", "cosine", "polynomial", "inverse_sqrt"]
T = TypeVar("T", bound="Op")


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """Base of all operations. `kind` names the operation in templates, tables and diffs."""

    kind: ClassVar[str] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Autocast(Op):
    """Forward pass of one micro-batch with matmul-class operations in `compute_dtype`.

    `weights` is the type of the weights that the model sees; those of normalization layers are
    float32 in any case.
    """

    kind: ClassVar[str] = "autocast"
    compute_dtype: Dtype
    weights: Dtype = "float32"


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalize(Op):
    """Divide the micro-batch loss *before* backward.

    `sample`: the summed loss by the number of rows of the window. `microbatch`: the mean loss by
    the number of micro-batches of the window. `token`: the summed loss by the number of labels of
    the window that are not -100, or by 1 if there is none. With `renormalize` a short last window
    is divided by its actual number, otherwise by `full` (the number in a full window). With data
    parallelism the result is multiplied by the number of processes, to compensate the mean of
    `AllReduce`.
    """

    kind: ClassVar[str] = "normalize"
    unit: LossUnit
    renormalize: bool
    full: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale(Op):
    """Multiply the loss by the loss scale, which is constant within a window."""

    kind: ClassVar[str] = "scale"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backward(Op):
    """Gradients of the (scaled) loss; the rounding is that of `compute_dtype`."""

    kind: ClassVar[str] = "backward"
    compute_dtype: Dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulate(Op):
    """Add the gradients of this micro-batch to the window's sum, rounded to `dtype` every time.

    A half type is for gradients of half weights; those of normalization layers are summed in
    float32 in any case.
    """

    kind: ClassVar[str] = "accumulate"
    dtype: Dtype = "float32"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce(Op):
    """Mean of the window's gradients over the data-parallel processes."""

    kind: ClassVar[str] = "all_reduce"
    processes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscale(Op):
    """Divide the window's gradients by the loss scale."""

    kind: ClassVar[str] = "unscale"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinite(Op):
    """Decide whether the attempt is skipped: any inf or nan in any gradient."""

    kind: ClassVar[str] = "check_finite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip(Op):
    """Clip the gradients.

    `none`: only report the global norm. `global_norm`: multiply by
    `min(1, limit / (norm + eps))`. `per_param_norm`: the same with the norm of each gradient by
    itself. `value`: clamp each entry to [-limit, limit]. Parameters with a role in `exempt` are
    not clipped and not included in the reported norm.
    """

    kind: ClassVar[str] = "clip"
    mode: Literal["none", "global_norm", "per_param_norm", "value"]
    limit: float = 0.0
    eps: float = 0.0
    exempt: tuple[Role, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Parameters selected by name patterns (`fnmatch.fnmatchcase`), with their own settings.

    `weight_decay` None leaves the decision to the roles.
    """

    parameters: tuple[str, ...]
    weight_decay: float | None = None
    rate_factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Op):
    """Weight decay and optimizer update, unless the attempt is skipped.

    Formulas (g gradient, w weight, t number of this update from 1, lr the scheduled rate times the
    factor of the group, c1 = 1 - b1**t and c2 = 1 - b2**t, both 1 without `bias_correction`):
    `sgd`: `g += wd*w; b = momentum*b + g` (`b = g` at the first update);
    `w -= lr * (g + momentum*b if nesterov else b)`, without momentum `w -= lr*g`. With
    `rate_in_momentum`: `b = momentum*b - lr*g; w += (momentum*b - lr*g if nesterov else b)`.
    `adam`: `g += wd*w`, then as adamw without decay.
    `adamw`: `w *= 1 - lr*wd; m = b1*m + (1-b1)*g; v = b2*v + (1-b2)*g*g;`
    `w -= lr/c1 * m / (sqrt(v)/sqrt(c2) + eps)`, or with `eps_placement` before the correction
    `w -= lr*sqrt(c2)/c1 * m / (sqrt(v) + eps)`.
    `lamb` (arXiv 1904.00962, no bounds of the norm): m and v as above,
    `r = (m/c1) / (sqrt(v/c2) + eps) + wd*w; w -= lr * (|w|/|r|) * r` with L2 norms of the whole
    parameter; the ratio is 1 where a norm is 0, and for parameters without decay unless
    `always_adapt`.
    `lion` (arXiv 2302.06675): `w *= 1 - lr*wd; w -= lr*sign(b1*m + (1-b1)*g);`
    `m = b2*m + (1-b2)*g`.
    `adafactor` (arXiv 1804.04235 in the form of torch.optim.Adafactor): `w *= 1 - lr*wd;`
    `s = t**beta2_decay`; for two dimensions and more `R = (1-s)*R + s*mean(g*g, -1)`,
    `C = (1-s)*C + s*mean(g*g, -2)`, `V = R C / max(mean(R, -2), factored_eps[0])`, else
    `V = (1-s)*V + s*g*g`; `u = g / sqrt(max(V, factored_eps[0]**2))`;
    `w -= max(factored_eps[1], rms(w)) * min(lr, 1/sqrt(t)) / max(1, rms(u)/clip_threshold) * u`,
    where w in rms(w) is the weight before its decay.
    Decay applies to parameters whose role is not in `no_decay`; the first of `groups` that matches
    the name of a parameter can override this.
    """

    kind: ClassVar[str] = "step"
    optimizer: Literal["sgd", "adam", "adamw", "lamb", "lion", "adafactor"]
    momentum: float = 0.0
    nesterov: bool = False
    rate_in_momentum: bool = False
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    eps_placement: Literal["after_correction", "before_correction"] = "after_correction"
    bias_correction: bool = True
    weight_decay: float = 0.0
    no_decay: tuple[Role, ...] = ()
    groups: tuple[Group, ...] = ()
    always_adapt: bool = True
    beta2_decay: float = -0.8
    factored_eps: tuple[float, float] = (2.0**-23, 1e-3)
    clip_threshold: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ema(Op):
    """Average of the weights, unless the attempt is skipped: `a = decay*a + (1-decay)*w`.

    It starts as the weights before the first window.
    """

    kind: ClassVar[str] = "ema"
    decay: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Op):
    """Advance the learning-rate schedule, per `update` (not on skips) or per `attempt`.

    The rate of a window is `crosscast.plan.schedule.learning_rate(op, position)` with the position
    before the advance.
    """

    kind: ClassVar[str] = "schedule"
    name: ScheduleName
    learning_rate: float
    end_lr: float
    warmup_steps: int
    total_steps: int
    tick: Literal["update", "attempt"]
    power: float = 1.0
    decay_from: Literal["warmup_end", "start"] = "warmup_end"
    warmup_start_lr: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateScale(Op):
    """The loss-scale state machine (`crosscast.plan.loss_scale`); `static` only keeps the scale."""

    kind: ClassVar[str] = "update_scale"
    mode: Literal["dynamic", "static"]
    init_scale: float
    growth_factor: float = 2.0
    backoff_factor: float = 0.5
    growth_interval: int = 2000
    hysteresis: int = 1
    hysteresis_mode: Literal["consecutive", "cumulative"] = "consecutive"
    min_scale: float = 1.0
    """0 without a lowest scale."""
    max_scale: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Zero(Op):
    """Clear the window's gradients."""

    kind: ClassVar[str] = "zero"


OPS: tuple[type[Op], ...] = (
    Autocast,
    Normalize,
    Scale,
    Backward,
    Accumulate,
    AllReduce,
    Unscale,
    CheckFinite,
    Clip,
    Step,
    Ema,
    Schedule,
    UpdateScale,
    Zero,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A training step: `micro` per micro-batch, `window` per optimizer-step attempt."""

    micro: tuple[Op, ...]
    window: tuple[Op, ...]
    adapted: frozenset[str] = field(default=frozenset(), compare=False)
    """Names of the adaptations that the rows of a target picked: how the operations are written
    for it, which does not change what they mean."""

    def __iter__(self) -> Iterator[Op]:
        yield from self.micro
        yield from self.window

    def find(self, op_type: type[T]) -> T | None:
        """Return the first operation of a type, or None."""
        for part in (self.micro, self.window):
            for op in part:
                if isinstance(op, op_type):
                    return op
        return None

    def get(self, op_type: type[T]) -> T:
        """Return the first operation of a type.

        Raises:
            LookupError: The plan has none.
        """
        operation = self.find(op_type)
        if operation is None:
            raise LookupError(f"the plan has no operation {op_type.kind!r}")
        return operation

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {part: [op_json(op) for op in getattr(self, part)] for part in ("micro", "window")}


def op_json(op: Op) -> dict[str, Any]:
    """Return an operation as plain data, with its kind first."""
    return {"op": op.kind, **{f.name: _plain_value(getattr(op, f.name)) for f in fields(op)}}


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    return asdict(value) if isinstance(value, Group) else value
