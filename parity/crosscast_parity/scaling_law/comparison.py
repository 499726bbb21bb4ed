"""Compare a run of one shape with the first shape: data, trace, agreement, losses, state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import UpdateScale
from crosscast_parity.checks.check import Check, Deviation, judge, relative, windows
from crosscast_parity.levels.envelope import distance
from crosscast_parity.levels.machine import LR_LIMIT, SCALE_LIMIT
from crosscast_parity.levels.tensor_checks import TensorError, judge_tensors
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.scaling_law.envelope import Run, Tolerance, distances
from crosscast_parity.scaling_law.recipes import Subject
from crosscast_parity.scaling_law.runs import ShapeRun
from crosscast_parity.scaling_law.scenes import Scene
from crosscast_parity.scaling_law.shapes import Shape, windows_of
from crosscast_parity.scaling_law.steps import Step, Steps

NOTHING = "no window was finished"
SLOTS = {"weights": ("parameters",), "averages": ("ema",)}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the trace that must be equal."""

    name: str
    limit: float
    value: Callable[[TraceRow], float]


COLUMNS = (
    Column("rows", 0, lambda row: row.rows),
    Column("skipped", 0, lambda row: row.skipped),
    Column("updates", 0, lambda row: row.updates),
    Column("scale", SCALE_LIMIT, lambda row: row.scale),
    Column("learning rate", LR_LIMIT, lambda row: row.lr),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A run and its reference. `reference`: the run of the first shape of the scene."""

    subject: Subject
    scene: Scene
    shape: Shape
    shape_run: ShapeRun
    reference: Run
    expected: ShapeRun
    tolerance: Tolerance

    @property
    def steps(self) -> Steps:
        """Of the first process."""
        return self.shape_run.ranks[0]

    @property
    def pairs(self) -> list[tuple[Step, Step]]:
        """Windows of the run and of the reference."""
        return list(zip(self.steps.steps, self.reference.steps.steps, strict=False))


def compare(case: Case) -> tuple[Check, ...]:
    """Return all checks of a run, the most informative first."""
    return tuple(replace(check, stage=case.scene.name, run=case.shape.name) for check in _all(case))


def _all(case: Case) -> Iterator[Check]:
    yield _check_ends(case)
    if len(case.shape_run.ranks) > 1:
        yield from agreement(case)
    yield _row_distribution(case)
    yield _micro_batches(case)
    for column in COLUMNS:
        yield _column(case, column)
    if case.subject.recipe.scaling_on:
        yield _machine(case)
        yield _skips(case)
    yield _norms(case)
    yield _losses(case)
    yield from _state(case)


def _check_ends(case: Case) -> Check:
    ours, expected = case.shape_run.outcome, case.expected.outcome
    counts = [len(rank.steps) for rank in case.shape_run.ranks]
    wanted = len(case.reference.steps.steps)
    same = ours.kind == expected.kind and set(counts) == {wanted}
    words = f"{ours.kind} after {windows(wanted)}"
    if not same:
        words = f"{ours.kind}, expected {expected.kind} after {windows(wanted)}"
        words += f"; {ours.message}" if ours.message else f"; finished {counts}"
    return Check(
        level="L0a",
        name="end",
        result="pass" if same else "fail",
        wording=words,
        window=None if same else min(counts, default=0),
    )


def agreement(case: Case) -> Iterator[Check]:
    """Yield whether all processes tell the same windows and hold the same bits."""
    first, *others = case.shape_run.ranks
    rows, states = [], []
    for rank, other in enumerate(others, start=1):
        for mine, yours in zip(first.steps, other.steps, strict=False):
            window = mine.row.window
            unlike = next(_unlike(mine, yours), None)
            rows.append((window, rank, unlike))
            names = [n for n, bits in mine.digests.items() if yours.digests.get(n) != bits]
            named = f"{names[0]} ({len(names)} of {len(mine.digests)} tensors)" if names else None
            states.append((window, rank, named))
    yield _agree("processes agree on the trace", rows)
    yield _agree("processes hold the same state", states)


def _unlike(mine: Step, yours: Step) -> Iterator[str]:
    ours, theirs = mine.row.to_json(), yours.row.to_json()
    for name, value in ours.items():
        if name == "grad_norm" and mine.row.skipped and yours.row.skipped:
            continue  # of a skipped window it means nothing
        if theirs[name] != value:
            yield f"{name} is {theirs[name]}, in process 0 {value}"
    if mine.counters != yours.counters:
        yield f"counters are {dict(yours.counters)}, in process 0 {dict(mine.counters)}"


def _agree(name: str, compared: list[tuple[int, int, str | None]]) -> Check:
    if not compared:
        return Check(level="L0a", name=name, result="unclear", wording=NOTHING)
    wrong = sorted((w, rank, words) for w, rank, words in compared if words)
    if not wrong:
        words = f"equal in {windows(len({w for w, _, _ in compared}))}"
        return Check(level="L0a", name=name, result="pass", wording=words, value=0, limit=0)
    window, rank, difference = wrong[0]
    return Check(
        level="L0a",
        name=name,
        result="fail",
        wording=f"window {window}, process {rank}: {difference}",
        value=float(len({w for w, _, _ in wrong})),
        limit=0,
        window=window,
    )


def _row_distribution(case: Case) -> Check:
    """Every row of a window goes to one process, once."""
    differences = []
    for window in range(min(len(case.reference.steps.steps), *map(_length, case.shape_run.ranks))):
        dealt = [
            sorted(h for m in r.steps[window].row_hashes for h in m) for r in case.shape_run.ranks
        ]
        wanted = sorted(h for m in case.reference.steps.steps[window].row_hashes for h in m)
        missing = len(set(wanted) - {h for rank in dealt for h in rank})
        twice = sum(map(len, dealt)) - len({h for rank in dealt for h in rank})
        surplus = len({h for rank in dealt for h in rank} - set(wanted))
        again = twice - (len(wanted) - len(set(wanted)))  # the data may hold equal rows
        differences.append((window, missing, again, surplus))
    wrong = [difference for difference in differences if any(difference[1:])]
    words = f"equal in {windows(len(differences))}"
    if wrong:
        window, missing, twice, surplus = wrong[0]
        parts = [f"{missing} missing"] * bool(missing) + [f"{twice} twice"] * (twice > 0)
        parts += [f"{surplus} of another window"] * bool(surplus)
        words = f"window {window}: of its rows {', '.join(parts) or 'some are not the same'}"
    return Check(
        level="L0a",
        name="data",
        result="fail" if wrong else "pass" if differences else "unclear",
        wording=words if differences else NOTHING,
        value=float(len(wrong)),
        limit=0,
        window=wrong[0][0] if wrong else None,
    )


def _length(rank: Steps) -> int:
    return len(rank.steps)


def _micro_batches(case: Case) -> Check:
    recipe = case.shape.applied(case.subject.recipe)
    feed = islice(windows_of(recipe, case.subject.train_rows), len(case.steps.steps))
    wanted = [sum(map(len, window)) for window in feed]
    deviations = (
        Deviation(r.window, r.n_micro != n, r.n_micro, n)
        for r, n in zip(case.steps.rows, wanted, strict=True)
    )
    return judge("L0a", "micro-batches", deviations, 0, nothing=NOTHING)


def _column(case: Case, column: Column) -> Check:
    """Compare a column; what is exactly equal is so whatever its size."""
    values = [(a.row.window, column.value(a.row), column.value(b.row)) for a, b in case.pairs]
    measure = relative if column.limit else lambda a, b: float(a != b)
    deviations = (Deviation(window, measure(a, b), a, b) for window, a, b in values)
    return judge("L0a", column.name, deviations, column.limit, nothing=NOTHING)


def _machine(case: Case) -> Check:
    """Replay the loss scale of the recipe on the run's own skips."""
    machine = canonical_plan(case.subject.recipe).find(UpdateScale)
    assert machine is not None
    state, deviations = loss_scale.initial(machine), []
    for row in case.steps.rows:
        off = relative(row.scale, state.scale)
        deviations.append(Deviation(row.window, off, row.scale, state.scale))
        state = loss_scale.adjust(machine, state, not row.skipped)
    return judge("L0b", "scale by the recipe", deviations, SCALE_LIMIT, nothing=NOTHING)


def _skips(case: Case) -> Check:
    """Every injected overflow is skipped, in every process."""
    deviations = [
        Deviation(step.row.window, float(not step.row.skipped), step.row.skipped, True)
        for rank in case.shape_run.ranks
        for step in rank.steps
        if step.row.window in case.scene.windows
    ]
    if not case.scene.windows:
        words = "no overflow was injected"
        return Check(level="L0b", name="overflows skipped", result="info", wording=words)
    return judge("L0b", "overflows skipped", deviations, 0, nothing=NOTHING)


def _calm(case: Case) -> list[tuple[Step, Step]]:
    return case.pairs[: case.tolerance.scalars.horizon]


def _diverged(case: Case) -> int:
    """Return the first update that is not finite on both sides: what it leaves is no number."""
    for mine, yours in case.pairs:
        rows = (mine.row, yours.row)
        if all(row.loss is None and not row.skipped for row in rows):
            return mine.row.window
    return len(case.pairs)


def _norms(case: Case) -> Check:
    deviations = (
        Deviation(
            a.row.window,
            relative(a.row.grad_norm, b.row.grad_norm) / case.tolerance.norm(a.row.window),
            a.row.grad_norm,
            b.row.grad_norm,
        )
        for a, b in _calm(case)
        if not (a.row.skipped or b.row.skipped)
    )
    return judge("L0c", "gradient norm", deviations, 1.0, nothing=NOTHING)


def _losses(case: Case) -> Check:
    deviations = (
        Deviation(
            a.row.window,
            distance(a.row.loss, b.row.loss) / case.tolerance.loss(a.row.window),
            a.row.loss,
            b.row.loss,
        )
        for a, b in _calm(case)
    )
    return judge("L2", "loss", deviations, 1.0, nothing=NOTHING)


def _state(case: Case) -> Iterator[Check]:
    """Compare weights, averages and moments after the windows whose state was kept."""
    errors: dict[str, list[TensorError]] = {"weights": [], "moments": [], "averages": []}
    end = min(case.tolerance.scalars.horizon, _diverged(case))
    for window in sorted(case.tolerance.tensors):
        if window >= end or not (case.steps.kept(window) and case.reference.steps.kept(window)):
            continue
        ours = Run(case.steps, case.reference.start)
        for name, size in distances(ours, case.reference, window).items():
            slot, _, parameter = name.partition("/")
            kind = next((kind for kind, slots in SLOTS.items() if slot in slots), "moments")
            shown = parameter if kind != "moments" else name
            share = size / case.tolerance.tensor(window, name)
            errors[kind].append(TensorError(window, shown, share))
    for kind, errors_of_kind in errors.items():
        if errors_of_kind:
            yield judge_tensors("L1b", kind, errors_of_kind, 1.0, nothing=NOTHING)
    if not errors["weights"]:
        yield Check(level="L1b", name="weights", result="unclear", wording=NOTHING)
