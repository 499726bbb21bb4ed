"""How close one step of an emitted script must come to the reference.

    |found - exact| <= SLACK * spread + 2 ulp(exact) + 4 ulp(change) + 2 |single - exact|

`exact` is the reference in float64, from the tensors the script itself had reached, and `change`
how far it is from those. `spread` says how well float32 can know the result: how far `exact` moves
when the inputs of the step do by one float32 ulp. The inputs are weights, every moment, averages,
the gradients of every micro-batch and the learning rate; each is moved up and down, and the larger
changes are added. Where a framework rounds the powers of the bias corrections, the rate and a decay
that is added to the corrected step are moved by as much. So the bound is large exactly where a
formula cancels, where the sign of a sum is taken, or where a gradient lies at the edge between two
half-precision numbers, and no bound is written by hand for an optimizer. `single`, the reference in
float32, adds something only where float32 as such is off, as when the square of a tiny gradient
becomes zero.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from crosscast.plan.operations import (
    Accumulate,
    Autocast,
    Backward,
    Clip,
    Normalize,
    Op,
    Plan,
    Scale,
    Schedule,
    Step,
)
from crosscast.reference.data import Tensors
from crosscast.reference.interpreter import DataRow, State, step
from crosscast_parity.toy.model import ROLES, Nudge, Toy

ULP = 2.0**-23
SLACK = 2.0
"""Roundings in units of one ulp of every input. Measured over hundreds of recipes: at most half of
the bound is used."""
DECAY_ADDED = ("adamw", "lamb")
"""Their decay is added to the corrected step, which a rounded correction scales alone."""
FOR_EVERY_BATCH = (Autocast, Normalize, Scale, Backward, Accumulate)
"""Of these nothing is left after the micro-batches but sums, and losses."""
TINY = 2.0**-126
"""Smaller numbers may be zero: not every kernel keeps subnormal ones."""


class WindowBounds:
    """One step of the reference from a given state: in float32, in float64, and nudged.

    Args:
        plan: What the step means.
        toy: The run it is a part of.
        state: Where it starts.
        number: Which window it is.
        rounded_powers: Whether powers of betas are products in float32 (see `toy.readings`).
    """

    def __init__(
        self, plan: Plan, toy: Toy, state: State, number: int, *, rounded_powers: bool = False
    ) -> None:
        self.plan, self._toy = plan, toy
        self.number, self.state = number, state
        self._powers = _powers(plan, state.updates + 1) if rounded_powers else 0.0
        self.after, self.single = step(plan, state, toy.work(number), ROLES)

    @cached_property
    def exact(self) -> DataRow:
        """The row of the step in float64."""
        return replace(self._rest(self.plan, self._wide), loss=self.exact_loss)

    @property
    def exact_loss(self) -> float:
        """The loss of the step in float64."""
        return self._begun[1].loss

    @cached_property
    def loss_size(self) -> float:
        """How large the terms of the loss are, all of them together."""
        return self._toy.loss_size(self.number, self.state.parameters) / _divisor(self.single)

    @cached_property
    def _wide(self) -> State:
        return _each(self.state, None)

    @cached_property
    def _tensors(self) -> tuple[dict[str, np.ndarray], ...]:
        """Those of the step in float32, in float64, and before it."""
        return self._single, tensors(self.exact), tensors(self._wide)

    @cached_property
    def _single(self) -> dict[str, np.ndarray]:
        return tensors(self.single)

    @cached_property
    def _nudged(self) -> list[list[DataRow]]:
        parts = ["parameters", *self.state.moments, *(("ema",) if self.state.ema else ())]
        parts += [part for group in self._toy.parts(self.number) for part in group]
        rate = ULP + self._powers if self.single.lr >= TINY else 1.0  # it may be zero
        sizes = dict.fromkeys(parts, ULP) | {"rate": rate, "decay": self._powers}
        return [
            [self._run(Nudge(part, sign * size)) for sign in (1.0, -1.0)]
            for part, size in sizes.items()
            if size
        ]

    @property
    def undecided(self) -> bool:
        """Whether one ulp of the inputs decides about a skip."""
        rows = [self.single, self.exact, *(row for pair in self._nudged for row in pair)]
        return len({row.skipped for row in rows}) > 1

    def _run(self, nudge: Nudge) -> DataRow:
        plan, state = _nudged_plan(self.plan, nudge), _each(self._wide, nudge)
        if any(nudge.part in parts for parts in self._toy.parts(self.number)):
            return step(plan, state, self._toy.nudged(self.number, nudge), ROLES)[1]
        return self._rest(plan, state)

    @cached_property
    def _begun(self) -> tuple[State, DataRow]:
        """The step in float64 up to its summed gradients, which are the same for all weights."""
        assert all(isinstance(op, FOR_EVERY_BATCH) for op in self.plan.micro)
        return step(replace(self.plan, window=()), self._wide, self._toy.work(self.number), ROLES)

    def _rest(self, plan: Plan, state: State) -> DataRow:
        """Return the result of a step that begins with the summed gradients."""
        state = replace(state, gradients=self._begun[0].gradients)
        return step(replace(plan, micro=()), state, self._toy.work(self.number), ROLES)[1]

    @property
    def beyond(self) -> bool:
        """Whether gradients reach the optimizer whose squares float32 cannot hold, or nan.

        Only a recipe without a finite check lets them through. What becomes of them is up to the
        order of operations, and no framework's is the right one.
        """
        row, clip = self.single, self.plan.find(Clip)
        if clip is not None and clip.exempt:  # its norm leaves some gradients out
            plain = replace(self.plan, window=tuple(map(_unclipped, self.plan.window)))
            row = step(plain, self.state, self._toy.work(self.number), ROLES)[1]
        return not row.skipped and not math.isfinite(row.grad_norm)

    def is_single(self, key: str, array: np.ndarray) -> bool:
        """Whether a result is to the last bit the one in float32, which is within every bound."""
        single = _pick(self.single, key) if key == "grad_norm" else self._single[key]
        return array.dtype == single.dtype and array.tobytes() == single.tobytes()

    def results(self, key: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the float32 result, the exact one, and the bound without the spread.

        `key` is `grad_norm` or names a tensor by `slot/parameter`.
        """
        with np.errstate(all="ignore"):
            if key == "grad_norm":
                single, exact = _pick(self.single, key), _pick(self.exact, key)
            else:
                single, exact, before = (arrays[key] for arrays in self._tensors)
            own = 2 * ULP * np.abs(exact) + 2 * np.abs(single - exact) + TINY
            if key != "grad_norm":
                own += 4 * ULP * np.abs(exact - before)
            return single, exact, own

    def spread(self, key: str) -> np.ndarray:
        """Return how far the exact result moves with its inputs."""
        with np.errstate(all="ignore"):
            exact = _pick(self.exact, key)
            moves = [
                np.max([np.abs(_pick(row, key) - exact) for row in pair], axis=0)
                for pair in self._nudged
            ]
            return np.asarray(np.sum(moves, axis=0))


def tensors(state: State | DataRow) -> dict[str, np.ndarray]:
    """Return all tensors of a state by `slot/parameter`."""
    slots = {"parameters": state.parameters, **state.moments, "ema": state.ema}
    return {f"{slot}/{n}": array for slot, arrays in slots.items() for n, array in arrays.items()}


def _pick(row: DataRow, key: str) -> np.ndarray:
    return np.array(row.grad_norm) if key == "grad_norm" else tensors(row)[key]


def _unclipped(op: Op) -> Op:
    return Clip(mode="none") if isinstance(op, Clip) else op


def _divisor(row: DataRow) -> float:
    """Return the divisor of the losses of the window, or a bit less."""
    return float(min(row.n_micro, row.rows, max(1, row.tokens)))


def _powers(plan: Plan, t: int) -> float:
    """Return how far the bias corrections are off if the powers are products of t float32."""
    op = plan.find(Step)
    if op is None or not op.bias_correction:
        return 0.0
    return sum(beta**t * t * ULP / 2 / (1.0 - beta**t) for beta in op.betas)


def _each(state: State, nudge: Nudge | None) -> State:
    """Return the state in float64, the tensors that `nudge` names moved."""

    def wide(slot: str, arrays: Tensors) -> dict[str, np.ndarray]:
        factor = 1.0 + nudge.size if nudge and nudge.part == slot else 1.0
        return {name: np.asarray(array, np.float64) * factor for name, array in arrays.items()}

    return replace(
        state,
        arithmetic="float64",
        parameters=wide("parameters", state.parameters),
        moments={slot: wide(slot, arrays) for slot, arrays in state.moments.items()},
        ema=wide("ema", state.ema),
    )


def _nudged_plan(plan: Plan, nudge: Nudge) -> Plan:
    factor = 1.0 + nudge.size

    def change(op: Op) -> Op:
        if nudge.part == "rate" and isinstance(op, Schedule):
            rates = ("learning_rate", "warmup_start_lr", "end_lr")
            return replace(op, **{name: getattr(op, name) * factor for name in rates})
        if nudge.part == "decay" and isinstance(op, Step) and op.optimizer in DECAY_ADDED:
            groups = (
                group
                if group.weight_decay is None
                else replace(group, weight_decay=group.weight_decay * factor)
                for group in op.groups
            )
            return replace(op, weight_decay=op.weight_decay * factor, groups=tuple(groups))
        return op

    return replace(plan, window=tuple(map(change, plan.window)))
