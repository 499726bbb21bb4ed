"""The Plan: one training step as an ordered tuple of small operations, and its order rules.

A Plan is consumed twice: backends print it (one template per operation) and
`crosscast.reference` runs it. `micro` runs for every micro-batch of a window, `window` once per
window after the last micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeVar

Dtype = Literal["float32", "float16", "bfloat16"]
LossUnit = Literal["sample", "microbatch"]
T = TypeVar("T", bound="Op")


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """Base of all operations. `kind` names the operation in templates, tables and diffs."""

    kind: ClassVar[str] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Autocast(Op):
    """Forward pass of one micro-batch with matmul-class operations in `compute_dtype`."""

    kind: ClassVar[str] = "autocast"
    compute_dtype: Dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalize(Op):
    """Divide the micro-batch loss *before* backward.

    `sample`: the summed loss by the number of rows of the window. `microbatch`: the mean loss by
    the number of micro-batches of the window. With `renormalize` a short last window is divided by
    what it really holds, else by `full` (what a full window holds). With data parallelism the
    result is multiplied by the number of processes, which the mean of `AllReduce` takes back.
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
    """Add the gradients of this micro-batch to the window's sum, kept in `dtype`."""

    kind: ClassVar[str] = "accumulate"
    dtype: Literal["float32"] = "float32"


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
    `min(1, limit / (norm + eps))`. `value`: clamp each entry to [-limit, limit].
    """

    kind: ClassVar[str] = "clip"
    mode: Literal["none", "global_norm", "value"]
    limit: float = 0.0
    eps: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Op):
    """Weight decay and optimizer update, unless the attempt is skipped.

    Formulas (g gradient, w weight, t number of this update from 1, lr the scheduled rate):
    `sgd`: `g += wd*w; b = momentum*b + g` (`b = g` at the first update);
    `w -= lr * (g + momentum*b if nesterov else b)`, without momentum `w -= lr*g`.
    `adam`: `g += wd*w`, then as adamw without decay.
    `adamw`: `w *= 1 - lr*wd; m = b1*m + (1-b1)*g; v = b2*v + (1-b2)*g*g;`
    `w -= lr/(1-b1**t) * m / (sqrt(v)/sqrt(1-b2**t) + eps)`.
    Decay applies to parameters whose role is not in `no_decay`.
    """

    kind: ClassVar[str] = "step"
    optimizer: Literal["sgd", "adam", "adamw"]
    momentum: float = 0.0
    nesterov: bool = False
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    no_decay: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Op):
    """Advance the learning-rate schedule, per `update` (not on skips) or per `attempt`.

    The rate of a window is `crosscast.schedule.learning_rate(op, position)` with the position
    before the advance.
    """

    kind: ClassVar[str] = "schedule"
    name: Literal["constant", "linear", "cosine"]
    learning_rate: float
    end_lr: float
    warmup_steps: int
    total_steps: int
    tick: Literal["update", "attempt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateScale(Op):
    """The loss-scale state machine (`crosscast.scaling`); `static` only keeps the scale."""

    kind: ClassVar[str] = "update_scale"
    mode: Literal["dynamic", "static"]
    init_scale: float
    growth_factor: float = 2.0
    backoff_factor: float = 0.5
    growth_interval: int = 2000
    hysteresis: int = 1
    min_scale: float = 1.0
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
    Schedule,
    UpdateScale,
    Zero,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A training step: `micro` per micro-batch, `window` per optimizer-step attempt."""

    micro: tuple[Op, ...]
    window: tuple[Op, ...]

    def __iter__(self) -> Iterator[Op]:
        yield from self.micro
        yield from self.window

    def find(self, op_type: type[T]) -> T | None:
        """Return the first operation of that type, or None."""
        return next((op for op in self if isinstance(op, op_type)), None)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {part: [op_json(op) for op in getattr(self, part)] for part in ("micro", "window")}


def op_json(op: Op) -> dict[str, Any]:
    """Return an operation as plain data, its kind first."""
    return {"op": op.kind, **{f.name: getattr(op, f.name) for f in fields(op)}}
