"""Level L1b of one observed run under many recipes, judge by judge and without hints.

The checks are those of `levels.replay`; what does not depend on the recipe is found out once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import (
    Accumulate,
    CheckFinite,
    Clip,
    Ema,
    Normalize,
    Plan,
    Schedule,
    Unscale,
)
from crosscast.plan.schedule import learning_rate
from crosscast.recipe.document import Recipe
from crosscast.reference.data import Roles
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.applied import check_applied, check_norm, clips_by_itself
from crosscast_parity.levels.recompute import Source, with_moments
from crosscast_parity.levels.replay import UPDATE_LIMIT, check_average, check_factors
from crosscast_parity.levels.tensor_checks import TensorError, judge_tensors, untested
from crosscast_parity.levels.updates import (
    Windows,
    arithmetic_noise,
    choose_source,
    finite_part,
    measure_updates,
    still,
)
from crosscast_parity.recordings.observations import Observation

Checks = tuple[Check, ...]
GRADIENTS = (Accumulate, Unscale, CheckFinite, Clip)
"""What decides about the gradients that an optimizer is given, once they are recorded."""


@dataclass(frozen=True)
class Replayed:
    """An observed run, and the recipe that it claims to follow."""

    recipe: Recipe
    observation: Observation
    _measured: list[tuple[tuple[object, ...], Check]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )
    _applied: list[tuple[tuple[object, ...], Checks]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def factors(self, recipe: Recipe) -> Checks:
        """Hold what the losses were multiplied by against a recipe.

        Under a recipe that divides means, its loss function may return the sums of the claimed
        one all the same, and divide them on the way; and the other way round.
        """
        plan = canonical_plan(recipe)
        check = check_factors(plan, self._seen)
        units = {_unit(plan), _unit(canonical_plan(self.recipe))}
        if check.result == "fail" and units == {"sample", "microbatch"}:
            other = check_factors(plan, self._seen, other_loss=True)
            check = other if other.result == "pass" else check
        return (check,)

    def applied(self, recipe: Recipe) -> Checks:
        """Hold norms, and the gradients that the optimizer was given, against a recipe."""
        plan = canonical_plan(recipe)
        key = tuple(op for op in plan if isinstance(op, GRADIENTS))
        checks = next((known for ops, known in self._applied if ops == key), None)
        if checks is None:
            checks = (check_norm(plan, self._roles, self._seen),)
            if not self._inside:
                checks += (check_applied(plan, self._roles, self._seen),)
            self._applied.append((key, checks))
        return checks

    def update(self, recipe: Recipe) -> Checks:
        """Hold updates and averages against a recipe."""
        plan = canonical_plan(recipe)
        checks: Checks = (self._updates(plan),)
        if plan.find(Ema):
            checks += (check_average(plan, self._seen),)
        return checks

    def _updates(self, plan: Plan) -> Check:
        if self._moved:
            words = "weights moved outside of updates"
            return Check(level="L1b", name="update", result="fail", wording=words)
        if self._source is None or not self._known:
            return untested("L1b", "update", "no update was recorded together with its gradients")
        return self._update(plan, self._source, self._part)

    @cached_property
    def _seen(self) -> Windows:
        return self.observation.windows

    @cached_property
    def _known(self) -> Windows:
        return with_moments(canonical_plan(self.recipe), self._seen)

    @cached_property
    def _roles(self) -> Roles:
        return self._seen[0].roles

    @cached_property
    def _inside(self) -> bool:
        """Whether the optimizer unscales or clips by itself."""
        if choose_source(self._seen) != "applied" or not all(
            window.total or window.row.skipped for window in self._seen
        ):
            return False
        plan = canonical_plan(self.recipe)
        right = check_applied(plan, self._roles, self._seen)
        if right.result != "fail" or not clips_by_itself(plan, self._roles, self._seen):
            return False
        return self._update(plan, "total", finite_part(self._known, "total")).result == "pass"

    @cached_property
    def _source(self) -> Source | None:
        return "total" if self._inside else choose_source(self._seen)

    @cached_property
    def _part(self) -> Windows:
        assert self._source is not None
        return finite_part(self._known, self._source)

    def _update(self, plan: Plan, source: Source, part: Windows) -> Check:
        """Measure the updates, or return the result of a plan with the same update."""
        key = (source, len(part), *_decisive(plan, part[-1].window + 1 if part else 0))
        check = next((known for measured, known in self._measured if measured == key), None)
        if check is None:
            check = self._measure(plan, source, part)
            self._measured.append((key, check))
        return check

    def _measure(self, plan: Plan, source: Source, part: Windows) -> Check:
        measured = measure_updates(plan, self._roles, part, source)
        errors = [
            TensorError(window_errors.window, name, error)
            for window_errors in measured
            for name, error in window_errors.errors.items()
            if (window_errors.window, name) not in self._noisy
        ]
        return judge_tensors("L1b", "update", errors, UPDATE_LIMIT, nothing="nothing was finite")

    @cached_property
    def _moved(self) -> bool:
        return any(True for _ in still(self._seen))

    @cached_property
    def _noisy(self) -> frozenset[tuple[int, str]]:
        """Updates that float32 arithmetic alone moves too far to be judged."""
        source = choose_source(self._seen)
        assert source is not None
        part, plan = finite_part(self._known, source), canonical_plan(self.recipe)
        noise = arithmetic_noise(plan, self._roles, part, source, self._seen[0].before.keys())
        return frozenset(
            (window, name)
            for window, sizes in noise.items()
            for name, size in sizes.items()
            if not size <= UPDATE_LIMIT
        )


def _decisive(plan: Plan, windows: int) -> tuple[object, ...]:
    """Return all of a plan that decides about the updates of its first windows.

    Of the schedule these are the first rates: during a warm-up most schedules are one.
    """
    schedule = plan.find(Schedule)
    assert schedule is not None
    rates = tuple(learning_rate(schedule, position) for position in range(windows))
    return (*(op for op in plan if not isinstance(op, Schedule)), schedule.tick, rates)


def _unit(plan: Plan) -> str:
    normalize = plan.find(Normalize)
    return normalize.unit if normalize else ""
