"""The handlers of the Plan operations in the reference interpreter.

The handlers assume no order. Each acts on the current state, as a framework would, so a plan in
another order runs and has another result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan import loss_scale
from crosscast.plan import operations as plan
from crosscast.plan.loss_scale import ScaleState
from crosscast.plan.schedule import learning_rate
from crosscast.reference import optimizer_formulas
from crosscast.reference.data import (
    Arithmetic,
    Array,
    MicroBatch,
    Roles,
    Tensors,
    Work,
    check_gradients,
)
from crosscast.reference.optimizer_formulas import sum_of_squares
from crosscast.reference.rounding import round_to

_TYPES: Mapping[Arithmetic, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}


@dataclass(slots=True)
class Micro:
    """The current micro-batch. `factor` is the factor applied to its loss so far."""

    work: Work
    loss: Any
    factor: Any
    batch: MicroBatch | None = None
    gradients: Tensors | None = None


@dataclass(slots=True, kw_only=True)
class Attempt:
    """The current window: the only mutable object, created for every window.

    Parameters are stored once, although every process has a copy: if a plan reduces the gradients,
    all copies are equal; otherwise this is the copy of the first process.
    """

    plan: plan.Plan
    roles: Roles
    arithmetic: Arithmetic
    n_micro: int
    rows: int
    tokens: int
    parameters: Tensors
    moments: dict[str, Tensors]
    ema: Tensors
    updates: int
    position: int
    scale: ScaleState
    sums: list[dict[str, Array]]
    """Accumulated gradients of every process; a name is absent after `Zero`."""
    losses: list[Any]
    rank: int = 0
    micro: Micro | None = None
    finite: bool = True
    norm: float = float("nan")
    rate: float = float("nan")

    def number(self, value: float) -> Any:
        """Return a scalar in the dtype of the arithmetic."""
        return _TYPES[self.arithmetic](value)

    def gradients(self) -> dict[str, Array]:
        """Return the optimizer's gradients: those of the first process, zero if cleared."""
        sums = self.sums[0]
        return {n: sums[n] if n in sums else np.zeros_like(w) for n, w in self.parameters.items()}

    def is_norm(self, name: str) -> bool:
        """Whether a parameter belongs to a normalization layer, whose weights are never half."""
        return self.has_role(name, ("layer_norm",))

    def each_sum(
        self, change: Callable[[Array], Array], but: Collection[str] = frozenset()
    ) -> None:
        """Replace every accumulated gradient of every process, except for roles in `but`."""
        self.sums = [
            {n: g if self.has_role(n, but) else change(g) for n, g in sum_.items()}
            for sum_ in self.sums
        ]

    def has_role(self, name: str, roles: Collection[str]) -> bool:
        """Whether a parameter has one of the roles."""
        return not self.roles.get(name, frozenset()).isdisjoint(roles)


def perform(attempt: Attempt, op: plan.Op) -> None:
    """Execute one operation.

    Raises:
        DiagnosticError: if the operation is unknown or its input is missing.
    """
    handler = HANDLERS.get(type(op))
    if handler is None:
        raise _stuck(f"the interpreter does not know the operation {op.kind!r}")
    handler(attempt, op)


def _stuck(message: str) -> DiagnosticError:
    return DiagnosticError(Diagnostic(code="CC805", message=message))


def _micro(attempt: Attempt) -> Micro:
    if attempt.micro is None:
        raise _stuck("an operation on a micro-batch comes before the first micro-batch")
    return attempt.micro


def _batch(attempt: Attempt, op: plan.Op) -> tuple[Micro, MicroBatch]:
    micro = _micro(attempt)
    if micro.batch is None:
        raise _stuck(f"{op.kind} needs a loss, and no forward pass came before it")
    return micro, micro.batch


def _autocast(attempt: Attempt, op: plan.Autocast) -> None:
    micro = _micro(attempt)
    work = micro.work
    batch = work if isinstance(work, MicroBatch) else work.run(_cast_weights(attempt, op))
    check_gradients(batch, attempt.parameters)
    micro.batch = batch
    micro.loss, micro.factor = attempt.number(batch.loss), attempt.number(1.0)


def _cast_weights(attempt: Attempt, op: plan.Autocast) -> Tensors:
    """Return the weights in the dtype of the model."""
    if op.weights == "float32":
        return attempt.parameters
    return {
        name: w if attempt.is_norm(name) else round_to(w, op.weights).astype(attempt.arithmetic)
        for name, w in attempt.parameters.items()
    }


def _normalize(attempt: Attempt, op: plan.Normalize) -> None:
    micro, _ = _batch(attempt, op)
    held = {"sample": attempt.rows, "microbatch": attempt.n_micro, "token": attempt.tokens}
    divisor = attempt.number(max(1, held[op.unit]) if op.renormalize else op.full)
    processes = attempt.number(len(attempt.sums))
    micro.loss = micro.loss / divisor * processes
    micro.factor = micro.factor / divisor * processes


def _scale(attempt: Attempt, op: plan.Scale) -> None:
    micro, _ = _batch(attempt, op)
    micro.factor = micro.factor * attempt.number(attempt.scale.scale)


def _backward(attempt: Attempt, op: plan.Backward) -> None:
    micro, batch = _batch(attempt, op)
    scaled = {
        name: micro.factor * np.asarray(gradient, dtype=attempt.arithmetic)
        for name, gradient in batch.gradients.items()
    }
    if op.compute_dtype != "float32":
        scaled = {
            name: round_to(gradient, op.compute_dtype).astype(attempt.arithmetic)
            for name, gradient in scaled.items()
        }
    micro.gradients = scaled


def _accumulate(attempt: Attempt, op: plan.Accumulate) -> None:
    micro, _ = _batch(attempt, op)
    if micro.gradients is None:
        raise _stuck("accumulate needs gradients, and no backward pass came before it")
    sums = attempt.sums[attempt.rank]
    for name, gradient in micro.gradients.items():
        total = sums[name] + gradient if name in sums else gradient
        if op.dtype != "float32" and not attempt.is_norm(name):
            total = round_to(total, op.dtype).astype(attempt.arithmetic)
        sums[name] = total
    attempt.losses[attempt.rank] = attempt.losses[attempt.rank] + micro.loss


def _all_reduce(attempt: Attempt, op: plan.AllReduce) -> None:
    held = [sum_ for sum_ in attempt.sums if sum_]  # a process without micro-batches adds nothing
    names = held[0] if held else ()
    total: dict[str, Array] = {n: np.sum([g[n] for g in held], axis=0) for n in names}
    attempt.sums = [{n: t / op.processes for n, t in total.items()} for _ in attempt.sums]


def _unscale(attempt: Attempt, op: plan.Unscale) -> None:
    scale = attempt.number(attempt.scale.scale)
    attempt.each_sum(lambda gradient: gradient / scale)


def _check_finite(attempt: Attempt, op: plan.CheckFinite) -> None:
    attempt.finite = all(
        bool(np.logical_and.reduce(np.isfinite(g), axis=None)) for g in attempt.gradients().values()
    )


def _clip(attempt: Attempt, op: plan.Clip) -> None:
    counted = {n: g for n, g in attempt.gradients().items() if not attempt.has_role(n, op.exempt)}
    attempt.norm = float(np.sqrt(sum(map(sum_of_squares, counted.values()))))

    def factor(norm: Any) -> Any:
        ratio = attempt.number(op.limit) / (attempt.number(norm) + attempt.number(op.eps))
        return np.minimum(attempt.number(1.0), ratio)

    if op.mode == "global_norm":
        shorter = factor(attempt.norm)
        attempt.each_sum(lambda g: g * shorter, op.exempt)
    elif op.mode == "per_param_norm":
        attempt.each_sum(lambda g: g * factor(np.sqrt(sum_of_squares(g))), op.exempt)
    elif op.mode == "value":
        attempt.each_sum(lambda g: np.clip(g, -op.limit, op.limit), op.exempt)


def _step(attempt: Attempt, op: plan.Step) -> None:
    schedule = attempt.plan.find(plan.Schedule)
    if schedule is None:
        raise _stuck("step needs a learning rate, and the plan has no schedule")
    attempt.rate = learning_rate(schedule, attempt.position)
    if not attempt.finite:
        return
    attempt.updates += 1
    parameters: dict[str, Array] = {}
    moments: dict[str, dict[str, Array]] = {name: {} for name in attempt.moments}
    for name, gradient in attempt.gradients().items():
        roles = attempt.roles.get(name, frozenset())
        decay, factor = optimizer_formulas.settings_of(op, name, roles)
        parameters[name], slots = optimizer_formulas.update(
            op,
            attempt.parameters[name],
            gradient,
            {slot: tensors[name] for slot, tensors in attempt.moments.items() if name in tensors},
            rate=attempt.rate * factor,
            t=attempt.updates,
            decay=decay,
        )
        for slot, value in slots.items():
            moments[slot][name] = value
    attempt.parameters, attempt.moments = parameters, dict(moments)


def _ema(attempt: Attempt, op: plan.Ema) -> None:
    if attempt.finite:
        attempt.ema = {
            name: op.decay * average + (1.0 - op.decay) * attempt.parameters[name]
            for name, average in attempt.ema.items()
        }


def _schedule(attempt: Attempt, op: plan.Schedule) -> None:
    if attempt.finite or op.tick == "attempt":
        attempt.position += 1


def _update_scale(attempt: Attempt, op: plan.UpdateScale) -> None:
    attempt.scale = loss_scale.adjust(op, attempt.scale, attempt.finite)


def _zero(attempt: Attempt, op: plan.Zero) -> None:
    attempt.sums = [{} for _ in attempt.sums]


HANDLERS: Mapping[type[plan.Op], Callable[[Attempt, Any], None]] = {
    plan.Autocast: _autocast,
    plan.Normalize: _normalize,
    plan.Scale: _scale,
    plan.Backward: _backward,
    plan.Accumulate: _accumulate,
    plan.AllReduce: _all_reduce,
    plan.Unscale: _unscale,
    plan.CheckFinite: _check_finite,
    plan.Clip: _clip,
    plan.Step: _step,
    plan.Ema: _ema,
    plan.Schedule: _schedule,
    plan.UpdateScale: _update_scale,
    plan.Zero: _zero,
}
