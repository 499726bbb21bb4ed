"""What a run of a user's program recorded, in the form in which recipes are held against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Step
from crosscast.recipe.document import Recipe
from crosscast.reference.data import Roles
from crosscast.reference.optimizer_formulas import settings_of
from crosscast_parity.checks.check import Check, Deviation, judge
from crosscast_parity.evidence.recorded_run import (
    Judge,
    JudgeFactory,
    Judges,
    Part,
    RecordedRun,
    judges_of,
)
from crosscast_parity.recordings.observations import Observation, ObservedWindow
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.side_by_side.recording import RecordedAttempt, Recording

TINY = 1e-9
"""Share of the highest rate below which a rate is 0: schedules come close to it by rounding."""
WHOLE = ("flush_renormalized", "flush")
"""Tails that make a short window."""
UNSEEN = (("L1b", "gradient norm"),)
"""Checks of what a program of the user's does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One tensor that the optimizer updates, and the number of its group."""

    name: str
    roles: frozenset[str]
    group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """One run: its records and, in memory, whole tensors of its first updates."""

    name: str
    recording: Recording
    windows: tuple[ObservedWindow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The runs of a program; the first is an undisturbed one."""

    program_runs: tuple[ProgramRun, ...]

    @property
    def recording(self) -> Recording:
        """The records of the undisturbed run."""
        return self.program_runs[0].recording

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the program told of itself."""
        return self.recording.facts

    @property
    def optimizers(self) -> int:
        """How many optimizers made steps."""
        return len({attempt.optimizer for attempt in self.recording.attempts})

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the optimizer updates; empty if it was not told."""
        return tuple(
            Parameter(name=entry["name"], roles=frozenset(entry["roles"]), group=entry["group"])
            for entry in self.facts.get("parameters", ())
        )

    def runs(self, recipe: Recipe, *, tensors: bool = True) -> tuple[RecordedRun, ...]:
        """Return the runs as those of a program that claims to follow a recipe."""
        roles = {parameter.name: parameter.roles for parameter in self.parameters}
        return tuple(self._run(run, recipe, roles, tensors) for run in self.program_runs)

    def _run(self, run: ProgramRun, recipe: Recipe, roles: Roles, tensors: bool) -> RecordedRun:
        rows = rows_of(run.recording, self._base_group(recipe))
        observation = None
        if tensors and run.windows and self.optimizers == 1:
            attempts = run.recording.attempts
            windows = tuple(
                _observed(window, rows[window.window], attempts[window.window], recipe, roles)
                for window in run.windows
                if window.window < len(rows)
            )
            observation = Observation(windows=windows)
        return RecordedRun(
            run=run.name, recipe=recipe, rows=rows, observation=observation, compared=False
        )

    def _base_group(self, recipe: Recipe) -> int:
        """Return the number of a group whose rate is that of the recipe, by its own patterns."""
        step = canonical_plan(recipe).find(Step)
        if step is not None:
            for parameter in self.parameters:
                if settings_of(step, parameter.name, parameter.roles)[1] == 1.0:
                    return parameter.group
        return 0

    def judges(self) -> JudgeFactory:
        """Return the factory for the judges of a run of a user's program."""
        attempts = {each.name: each.recording.attempts for each in self.program_runs}

        def factory(run: RecordedRun) -> Judges:
            judges: dict[Part, Judge] = {
                part: _without_unseen(judged)
                for part, judged in judges_of(run).items()
                if part != "types"
            }
            judges["counts"] = lambda recipe: check_micro_batches(recipe, attempts[run.run])
            return judges

        return factory


def _without_unseen(judged: Judge) -> Judge:
    def rest(recipe: Recipe) -> tuple[Check, ...]:
        return tuple(c for c in judged(recipe) if (c.level, c.name) not in UNSEEN)

    return rest


def micro_of(attempt: RecordedAttempt) -> int:
    """Return the number of micro-batches of an attempt."""
    return max(1, len(attempt.micro) or attempt.backwards)


def rows_of(recording: Recording, group: int = 0) -> tuple[TraceRow, ...]:
    """Return the trace of a run, with the rates of a group of parameters."""
    rates = [_rate(attempt, group) for attempt in recording.attempts]
    least = TINY * max(rates, default=0.0)
    rows, updates = [], 0
    for number, attempt in enumerate(recording.attempts):
        updates += not attempt.skipped
        counts = [part["rows"] for part in attempt.micro]
        rows.append(
            TraceRow(
                window=number,
                n_micro=micro_of(attempt),
                rows=sum(counts) if counts and all(counts) else micro_of(attempt),
                loss=None,
                lr=rates[number] if rates[number] > least else 0.0,
                grad_norm=None if attempt.skipped else 1.0,
                scale=1.0 if attempt.scale is None else attempt.scale,
                skipped=attempt.skipped,
                updates=updates,
            )
        )
    return tuple(rows)


def _rate(attempt: RecordedAttempt, group: int) -> float:
    settings = attempt.settings[group if group < len(attempt.settings) else 0]
    return float(settings.get("lr") or 0.0)


def _observed(
    window: ObservedWindow, row: TraceRow, attempt: RecordedAttempt, recipe: Recipe, roles: Roles
) -> ObservedWindow:
    """Return a window with what the losses were multiplied by, in the unit of a recipe."""
    known = {name: roles.get(name, frozenset()) for name in window.before}
    factors = [_factor(part, recipe.accumulation.normalize_by) for part in attempt.micro]
    if not factors or any(factor is None for factor in factors):
        return replace(window, row=row, known=known, micro_rows=(), factors=(), losses=())
    return replace(
        window,
        row=row,
        known=known,
        micro_rows=tuple(factor[1] for factor in factors if factor),
        factors=tuple(factor[0] for factor in factors if factor),
        losses=tuple(None for _ in factors),
        tokens=sum(factor[1] for factor in factors if factor),
    )


def _factor(part: Mapping[str, Any], unit: str) -> tuple[float, int] | None:
    """Return the factor of a micro-batch's loss and the number of its labels; None if unknown."""
    losses = [loss for loss in part["losses"] if loss["factor"] is not None]
    if len(losses) != 1 or losses[0]["weights"] or not losses[0]["labels"]:
        return None
    loss, labels = losses[0], int(losses[0]["labels"])
    if unit == "sample" and labels != part["rows"]:
        return None  # several labels a row
    each = loss["factor"] / labels if loss["mean"] else loss["factor"] * loss["elements"]
    return (each * labels if unit == "microbatch" else each), labels


def check_micro_batches(recipe: Recipe, attempts: Sequence[RecordedAttempt]) -> tuple[Check, ...]:
    """Hold micro-batches and their rows against a recipe.

    Where an epoch ends is not known: fewer of either are the end of one, unless most are.
    """
    steps, size = recipe.accumulation.steps, recipe.batch.micro_batch_size
    counts = [micro_of(attempt) for attempt in attempts]
    ends = recipe.accumulation.tail in WHOLE
    checks = [
        judge(
            "L0b",
            "micro-batches of a window",
            (
                Deviation(n, many != steps and not (ends and many < steps), many, steps)
                for n, many in enumerate(_usual_first(counts, steps))
            ),
            0,
            nothing="no update was made",
        )
    ]
    sizes = [part["rows"] for attempt in attempts for part in attempt.micro]
    if sizes and all(sizes):
        checks.append(
            judge(
                "L0b",
                "rows of a window",
                (
                    Deviation(n, many > size, many, size)
                    for n, many in enumerate(_usual_first(sizes, size))
                ),
                0,
                nothing="no update was made",
            )
        )
    return tuple(checks)


def _usual_first(values: Sequence[int], claimed: int) -> Iterable[int]:
    """Yield values; all of them as twice the claimed one if most are less than that."""
    usual = most_common(values)
    return [2 * claimed] * len(values) if usual < claimed else values


def most_common(values: Iterable[Any]) -> Any:
    """Return the value that is most often there."""
    return Counter(values).most_common(1)[0][0]
