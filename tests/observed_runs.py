"""Runs of a script that does exactly what a recipe means: the reference interpreter, observed.

The model is a toy with the names of BERT's parameters. Its gradients are drawn: those of the biases
of the keys are noise, and those of the few kernels so large that their norm is clipped, as it is in
some windows of a small BERT.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Accumulate, Autocast, Backward, Clip, Normalize, Plan
from crosscast.recipe.document import BertModel, Recipe, SyntheticData
from crosscast.reference.data import DataRow, Tensors
from crosscast.reference.interpreter import Forward, MicroBatch, State, initial, step
from crosscast_parity.evidence.recorded_run import RecordedRun
from crosscast_parity.inputs.weights import Style, bert_weights
from crosscast_parity.inside.inject import Fault
from crosscast_parity.levels.row_weights import micro_sizes
from crosscast_parity.planning.recorded_windows import recorded_windows
from crosscast_parity.planning.runs import RECORDED_LATE
from crosscast_parity.recipes.derived import at_stress_scale, in_float32, is_half
from crosscast_parity.recipes.window_rows import expected_counts
from crosscast_parity.recordings.observations import HeldState, Observation, ObservedWindow
from crosscast_parity.recordings.roles import roles_of
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.recordings.type_manifest import Manifest, Operation

SIZES = {
    "layers": 1,
    "hidden_size": 6,
    "attention_heads": 2,
    "intermediate_size": 8,
    "vocab_size": 32,
    "max_positions": 24,
}
KEY_BIAS = "attention.self.key.bias"
NOISE = 1e-9


@dataclass(frozen=True)
class Script:
    """A program that obeys `recipe`; `seed` draws its weights and gradients."""

    recipe: Recipe
    seed: int = 0
    style: Style = "bert"

    def train(
        self, windows: int, faults: Sequence[Fault] = (), record: Collection[int] = ()
    ) -> tuple[tuple[TraceRow, ...], Observation | None]:
        """Return the trace and, of some windows, what an observer sees."""
        plan = _computed(self.recipe)
        model = self.recipe.model
        assert isinstance(model, BertModel)
        weights = bert_weights(model.model_copy(update=SIZES), self.seed, style=self.style)
        state = initial(plan, weights)
        roles = roles_of(weights)
        assert isinstance(self.recipe.data, SyntheticData)
        counts = expected_counts(self.recipe, self.recipe.data.train_rows)
        rows, seen = [], []
        for number, (n_micro, n_rows) in enumerate(islice(counts, windows)):
            blank = TraceRow(
                window=number,
                n_micro=n_micro,
                rows=n_rows,
                loss=None,
                lr=0.0,
                grad_norm=None,
                scale=1.0,
                skipped=False,
                updates=0,
            )
            work = self._work(blank, faults)
            after, done = step(plan, state, work, roles)
            row = _row(blank, done)
            rows.append(row)
            if number in record:
                seen.append(self._observed(plan, state, after, work, row))
            state = after
        manifest = manifest_of(self.recipe)
        return tuple(rows), Observation(windows=tuple(seen), manifest=manifest) if seen else None

    def _work(self, row: TraceRow, faults: Sequence[Fault]) -> list[Forward]:
        return [
            self._forward(row.window, (index, row.n_micro), size, faults)
            for index, size in enumerate(micro_sizes(self.recipe, row))
        ]

    def _forward(
        self, window: int, place: tuple[int, int], rows: int, faults: Sequence[Fault]
    ) -> Forward:
        index, count = place
        unit = self.recipe.accumulation.normalize_by
        weight = 1.0 if unit == "microbatch" else float(rows)
        poisoned = [f for f in faults if (f.window, f.place(count)) == (window, index)]

        def run(parameters: Tensors) -> MicroBatch:
            rng = np.random.default_rng([self.seed, window, index])
            gradients = {
                name: weight * _gradient(rng, name, array) for name, array in parameters.items()
            }
            loss = weight * (1.0 + 0.1 * rng.standard_normal())
            for fault in poisoned:
                value = float(fault.kind)
                if not fault.names:
                    loss *= value
                for name in fault.chooses(gradients) if fault.names else gradients:
                    gradients[name] = np.full_like(gradients[name], value)
            return MicroBatch(loss, gradients, rows)

        return Forward(rows, run)

    def _observed(
        self, plan: Plan, state: State, after: State, work: list[Forward], row: TraceRow
    ) -> ObservedWindow:
        roles = roles_of(state.parameters)
        exact = tuple(Accumulate() if isinstance(op, Accumulate) else op for op in plan.micro)
        sums = step(Plan(micro=exact, window=()), state, work, roles)[0].gradients[0]
        first = _first(plan, state, work)
        clip = next(i for i, op in enumerate(plan.window) if isinstance(op, Clip))
        to_clip = Plan(micro=plan.micro, window=plan.window[: clip + 1])
        applied = step(to_clip, state, work, roles)[0].gradients[0]
        sizes = micro_sizes(self.recipe, row)
        factor = _factor(plan, row)
        dtype = "float32"
        if self.recipe.precision.mode == "full":
            dtype = self.recipe.precision.compute_dtype
        return ObservedWindow(
            window=row.window,
            micro_rows=tuple(sizes),
            losses=tuple(1.0 for _ in sizes),
            factors=tuple(factor for _ in sizes),
            gradient_dtypes={
                name: "float32" if "LayerNorm" in name else dtype for name in state.parameters
            },
            row=row,
            before=_copied(state.parameters),
            after=_copied(after.parameters),
            total=_copied(sums),
            first=_copied(first),
            applied={} if row.skipped else _copied(applied),
            tokens=row.rows,
            average=_copied(after.ema),
            held=HeldState(
                moments={
                    f"{slot}/{name}": np.array(array, np.float32)
                    for slot, tensors in state.moments.items()
                    for name, array in tensors.items()
                },
                average=_copied(state.ema),
            ),
        )


def _computed(recipe: Recipe) -> Plan:
    """The plan; its gradients are products, in the type that the recipe chooses for those."""
    plan = canonical_plan(recipe)
    if recipe.precision.ops.matmul == "half":
        return plan
    micro = tuple(
        replace(op, compute_dtype="float32") if isinstance(op, Autocast | Backward) else op
        for op in plan.micro
    )
    return replace(plan, micro=micro)


OPERATIONS = {
    "matmul": ("linear", "matmul"),
    "pointwise": ("gelu", "tanh", "add"),
    "reductions": ("softmax", "layer_norm"),
    "embeddings": ("embedding",),
    "losses": ("cross_entropy",),
}


def manifest_of(recipe: Recipe) -> Manifest:
    """Every class of operations in the type that the recipe chooses."""
    ops, half = recipe.precision.ops, recipe.precision.compute_dtype
    types = {kind: "float32" if getattr(ops, kind) == "float32" else half for kind in OPERATIONS}
    sums = half if ops.residual == "half" else "float32"
    operations = {
        kind: tuple(
            Operation(
                name=name,
                inputs=("float32",),
                output=sums if name == "add" else types[kind],
                count=4,
            )
            for name in names
        )
        for kind, names in OPERATIONS.items()
    }
    return Manifest(autocast=recipe.half or None, operations=operations, evaluation=operations)


def _first(plan: Plan, state: State, work: list[Forward]) -> Tensors:
    """The first micro-batch alone, divided as in its window."""
    normalize = plan.find(Normalize)
    assert normalize is not None
    rows, count = sum(run.rows for run in work), len(work)
    held = {"sample": rows, "microbatch": count, "token": rows}[normalize.unit]
    whole = replace(
        normalize, renormalize=False, full=held if normalize.renormalize else normalize.full
    )
    micro = tuple(whole if isinstance(op, Normalize) else op for op in plan.micro)
    return step(Plan(micro=micro, window=()), state, work[:1])[0].gradients[0]


def _factor(plan: Plan, row: TraceRow) -> float:
    normalize = plan.find(Normalize)
    assert normalize is not None
    held = {"sample": row.rows, "microbatch": row.n_micro, "token": row.rows}[normalize.unit]
    return row.scale / (held if normalize.renormalize else normalize.full)


def _gradient(rng: np.random.Generator, name: str, array: np.ndarray) -> np.ndarray:
    size = NOISE if name.endswith(KEY_BIAS) else 0.08
    if "LayerNorm" in name:
        size = 0.3
    drawn: np.ndarray = size * rng.standard_normal(array.shape).astype(np.float32)
    return drawn


def _copied(tensors: Tensors) -> dict[str, np.ndarray]:
    return {name: np.asarray(array, np.float32) for name, array in tensors.items()}


def _row(blank: TraceRow, done: DataRow) -> TraceRow:
    return replace(
        blank,
        loss=done.loss if math.isfinite(done.loss) else None,
        lr=done.lr,
        grad_norm=done.grad_norm if math.isfinite(done.grad_norm) else None,
        scale=done.scale,
        skipped=done.skipped,
        updates=done.updates,
    )


def sight(
    recipe: Recipe,
    run: str,
    windows: int,
    *,
    claimed: Recipe | None = None,
    faults: Sequence[Fault] = (),
    record: Collection[int] = (),
    seed: int = 0,
) -> RecordedRun:
    """Train by a recipe, and claim that it was another one."""
    style: Style = "stress" if "stress" in run else "bert"
    rows, observation = Script(recipe, seed, style).train(windows, faults, record)
    data = recipe.data
    return RecordedRun(
        run=run,
        recipe=claimed or recipe,
        rows=rows,
        observation=observation,
        train_rows=data.train_rows if isinstance(data, SyntheticData) else None,
        weights="stress" if style == "stress" else "initial",
    )


def recorded_runs(
    recipe: Recipe, faults: Sequence[Fault], *, claimed: Recipe | None = None, recorded: int = 4
) -> list[RecordedRun]:
    """The runs of a quick comparison: short ones in float32 and half, one with faults, a long one.

    `recorded`: windows of the short ones.
    """
    first = range(recorded)
    claimed = claimed or recipe
    found = []
    length = recipe.schedule.total_steps

    def long(run: str, windows: int, faults: tuple[Fault, ...] = ()) -> RecordedRun:
        record = recorded_windows(claimed, windows, faults, RECORDED_LATE)
        seen = sight(recipe, run, windows, claimed=claimed, faults=faults, record=record)
        return replace(seen, short=False)

    if is_half(claimed):
        exact, stressed = in_float32(recipe), at_stress_scale(recipe)
        found.append(
            sight(exact, "float32-initial", recorded, claimed=in_float32(claimed), record=first)
        )
        found.append(
            sight(stressed, "half-stress", recorded, claimed=at_stress_scale(claimed), record=first)
        )
    else:
        found.append(sight(recipe, "float32-initial", recorded, claimed=claimed, record=first))
    if faults:
        last = max(fault.window for fault in faults) + 16
        found.append(long("faults", min(last, length), tuple(faults)))
    found.append(long("main", length))
    return found
