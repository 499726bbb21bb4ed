"""Observations made up: the reference interpreter runs a plan in float32 and is recorded.

The plan may be another than that of the recipe, and hooks may spoil what happens in between, as a
script with a mistake would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.loss_scale import ScaleState, initial
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from crosscast.reference.data import MicroBatch
from crosscast.reference.operations import Attempt, Micro, perform
from crosscast.reference.optimizer_formulas import slot_shapes
from crosscast_parity.checks.check import Check
from crosscast_parity.recordings.observations import HeldState, Observation, ObservedWindow
from crosscast_parity.recordings.roles import roles_of
from crosscast_parity.recordings.trace import TraceRow
from recipe_texts import recipe_of

Arrays = dict[str, np.ndarray]
Hook = Callable[[ops.Op, Attempt], None]

MODEL = BertModel(
    kind="bert",
    layers=1,
    hidden_size=8,
    attention_heads=2,
    intermediate_size=16,
    vocab_size=40,
    max_positions=12,
    labels=3,
    dropout=0.0,
)
SHAPES = bert_shapes(MODEL)


def weights(seed: int = 0) -> Arrays:
    """Random parameters of a very small BERT, some of them LayerNorm weights near 1."""
    rng = np.random.default_rng(seed)
    return {
        name: (rng.standard_normal(shape) * 0.3 + name.endswith("LayerNorm.weight")).astype("f4")
        for name, shape in SHAPES.items()
    }


def micro_batches(
    seed: int, window: int, rows: Sequence[int], size: float = 1.0
) -> list[MicroBatch]:
    """Random gradients, each tensor in a size of its own."""
    sizes = 10.0 ** np.random.default_rng(seed).uniform(-5, 0, len(SHAPES))
    rng = np.random.default_rng([seed, window])
    found = []
    for count in rows:
        gradients = {
            name: (rng.standard_normal(shape) * size * own).astype("f4")
            for (name, shape), own in zip(SHAPES.items(), sizes, strict=True)
        }
        found.append(MicroBatch(loss=float(count) * 1.1, gradients=gradients, rows=count))
    return found


@dataclass
class Recorder:
    """A run of a plan that is recorded window by window.

    `before_op` is called before every operation and may change the attempt; `after_window` may
    change the new parameters.
    """

    plan: ops.Plan
    before_op: Hook | None = None
    after_window: Callable[[int, Arrays], None] | None = None
    parameters: Arrays = field(default_factory=weights)
    updates: int = 0
    position: int = 0

    def __post_init__(self) -> None:
        update, step = self.plan.find(ops.UpdateScale), self.plan.find(ops.Step)
        assert step is not None
        self.scale = initial(update) if update else ScaleState(1.0)
        self.moments: dict[str, Arrays] = {}
        for name, array in self.parameters.items():
            for slot, shape in slot_shapes(step, array.shape).items():
                self.moments.setdefault(slot, {})[name] = np.zeros(shape, np.float32)
        self.average = dict(self.parameters)
        self.left: Mapping[str, np.ndarray] = {}

    def window(self, number: int, work: Sequence[MicroBatch]) -> ObservedWindow:
        """Run one window."""
        attempt = self._attempt(work)
        seen: dict[str, Any] = {"total": {}, "first": {}, "applied": {}, "factors": []}
        before, held = dict(self.parameters), self._held()
        with np.errstate(all="ignore"):
            for batch in work:
                unit = np.float32(1)
                attempt.micro = Micro(batch, loss=unit, factor=unit)
                for op in self.plan.micro:
                    self._perform(attempt, op)
                    if isinstance(op, ops.Backward):
                        self._backward(attempt, seen)
            for op in self.plan.window:
                if isinstance(op, ops.Step) and attempt.finite:
                    seen["applied"] = attempt.gradients()
                self._perform(attempt, op)
        self._keep(attempt, number)
        return ObservedWindow(
            window=number,
            micro_rows=tuple(batch.rows for batch in work),
            losses=tuple(batch.loss for batch in work),
            factors=tuple(seen["factors"]),
            gradient_dtypes=dict.fromkeys(before, "float32"),
            row=self._row(attempt, number, seen["scale"]),
            before=before,
            after=dict(self.parameters),
            total=seen["total"],
            first=seen["first"],
            applied=seen["applied"],
            average=dict(self.average) if self.plan.find(ops.Ema) else {},
            held=held,
        )

    def _held(self) -> HeldState:
        moments = {f"{slot}/{n}": a for slot, some in self.moments.items() for n, a in some.items()}
        return HeldState(
            moments=moments, average=dict(self.average) if self.plan.find(ops.Ema) else {}
        )

    def _perform(self, attempt: Attempt, op: ops.Op) -> None:
        if self.before_op:
            self.before_op(op, attempt)
        perform(attempt, op)

    def _backward(self, attempt: Attempt, seen: dict[str, Any]) -> None:
        assert attempt.micro is not None
        gradients = attempt.micro.gradients or {}
        factor = float(attempt.micro.factor)
        seen["factors"].append(factor if np.isfinite(factor) else None)
        seen["scale"] = attempt.scale.scale
        seen["first"] = seen["first"] or dict(gradients)
        total = seen["total"]
        seen["total"] = {n: total[n] + g if n in total else g for n, g in gradients.items()}

    def _attempt(self, work: Sequence[MicroBatch]) -> Attempt:
        rows = sum(batch.rows for batch in work)
        return Attempt(
            plan=self.plan,
            roles=roles_of(self.parameters),
            arithmetic="float32",
            n_micro=len(work),
            rows=rows,
            tokens=rows,
            parameters=dict(self.parameters),
            moments=dict(self.moments),
            ema=dict(self.average),
            updates=self.updates,
            position=self.position,
            scale=self.scale,
            sums=[dict(self.left)],
            losses=[0.0],
        )

    def _keep(self, attempt: Attempt, number: int) -> None:
        self.parameters = {n: np.asarray(a, np.float32) for n, a in attempt.parameters.items()}
        if self.after_window:
            self.after_window(number, self.parameters)
        self.moments = {
            slot: {n: np.asarray(a, np.float32) for n, a in tensors.items()}
            for slot, tensors in attempt.moments.items()
        }
        self.average = {n: np.asarray(a, np.float32) for n, a in attempt.ema.items()}
        self.updates, self.position = attempt.updates, attempt.position
        self.scale, self.left = attempt.scale, attempt.sums[0]

    def _row(self, attempt: Attempt, number: int, scale: float) -> TraceRow:
        return TraceRow(
            window=number,
            n_micro=attempt.n_micro,
            rows=attempt.rows,
            loss=float(sum(attempt.losses)),
            lr=attempt.rate,
            grad_norm=attempt.norm if np.isfinite(attempt.norm) else None,
            scale=scale,
            skipped=not attempt.finite,
            updates=attempt.updates,
        )


def record(
    recipe: Recipe,
    *,
    plan: ops.Plan | None = None,
    before_op: Hook | None = None,
    after_window: Callable[[int, Arrays], None] | None = None,
    windows: int = 4,
    rows: Sequence[Sequence[int]] = ((4, 4, 4), (4, 4, 4), (4, 4, 2), (4, 4, 4)),
    overflow: Sequence[int] = (),
    seed: int = 0,
    size: float = 1.0,
    keep: Sequence[int] | None = None,
) -> Observation:
    """Run a recipe, or another plan in its place, and return what an observer would have seen.

    `keep`: the windows that it recorded, with the state before those that follow a gap.
    """
    recorder = Recorder(plan or canonical_plan(recipe), before_op, after_window)
    seen = []
    for number in range(windows):
        work = micro_batches(seed, number, rows[number % len(rows)], size)
        if number in overflow:
            name = next(iter(SHAPES))
            spoilt = {**work[-1].gradients, name: np.full(SHAPES[name], np.inf, np.float32)}
            work[-1] = replace(work[-1], gradients=spoilt)
        window = recorder.window(number, work)
        if keep is None or number in keep:
            gap = number > 0 and keep is not None and number - 1 not in keep
            seen.append(window if gap else replace(window, held=None))
    return Observation(windows=tuple(seen))


def change(plan: ops.Plan, kind: type[ops.Op], **values: Any) -> ops.Plan:
    """Return a plan with other settings of one operation."""

    def changed(part: tuple[ops.Op, ...]) -> tuple[ops.Op, ...]:
        return tuple(replace(op, **values) if isinstance(op, kind) else op for op in part)

    return ops.Plan(micro=changed(plan.micro), window=changed(plan.window))


def without(plan: ops.Plan, kind: type[ops.Op]) -> ops.Plan:
    """Return a plan without an operation."""

    def left(part: tuple[ops.Op, ...]) -> tuple[ops.Op, ...]:
        return tuple(op for op in part if not isinstance(op, kind))

    return ops.Plan(micro=left(plan.micro), window=left(plan.window))


FIELDS = {
    "batch": "{micro_batch_size: 4}",
    "accumulation": "{steps: 3}",
    "precision": "{mode: mixed, compute_dtype: float16}",
    "loss_scaling": "{mode: dynamic, init_scale: 4096, growth_interval: 2}",
    "clipping": "{kind: global_norm, max_norm: 0.35}",
    "optimizer": "{name: adamw, learning_rate: 1e-3, weight_decay: 0.1}",
    "schedule": "{name: linear, total_steps: 64, warmup_steps: 4}",
}


def stress(**changes: str) -> Recipe:
    """A recipe in which everything shows, with changes."""
    return recipe_of(**(FIELDS | changes))


RECIPE = stress()
PLAN = canonical_plan(RECIPE)


def by_name(checks: tuple[Check, ...]) -> dict[str, Check]:
    """Checks by their names."""
    return {check.name: check for check in checks}


def results(checks: tuple[Check, ...]) -> dict[str, str]:
    """Results of checks by their names."""
    return {check.name: check.result for check in checks}


def changed(observed: Observation, number: int, **changes: Any) -> Observation:
    """An observation with changes in one window."""
    windows = list(observed.windows)
    windows[number] = replace(windows[number], **changes)
    return replace(observed, windows=tuple(windows))
