"""A run on the toy held against recipes other than its own, as recorded runs of a model are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan, Schedule, UpdateScale
from crosscast.recipe.document import Recipe
from crosscast.reference.interpreter import State, initial, step
from crosscast_parity.checks.check import Check
from crosscast_parity.toy.bounds import WindowBounds, tensors
from crosscast_parity.toy.causes import MALFORMED, Case, case_of
from crosscast_parity.toy.checks import NAMES, checks_of
from crosscast_parity.toy.compare import (
    Arrays,
    Report,
    Seen,
    before_window,
    compare,
    differences_in,
    go_on,
)
from crosscast_parity.toy.model import ROLES, Toy
from crosscast_parity.toy.names import resolved
from crosscast_parity.toy.readings import readings

PARTS = 4
"""Of a run, from whose beginning an update is sampled each."""


@dataclass(frozen=True)
class ToyRecord:
    """What a script left of a toy. `load`: reads what it was given and what it made of it."""

    recipe: Recipe
    framework: str
    load: Callable[[], tuple[Toy, Seen]]

    def whole(self, recipe: Recipe) -> tuple[Check, ...]:
        """Hold all windows against a recipe. The value of a check: windows from the first on."""
        plan, own = canonical_plan(recipe), canonical_plan(self.recipe)
        try:
            if plan != own and (self._case is None or self._case.explained_by(plan)):
                return self._judged(compare(plan, self._toy, self._seen, self.framework))
        except MALFORMED:
            pass  # in a window that the run's own recipe does not reach
        return self._judged(self._report)

    def _judged(self, report: Report) -> tuple[Check, ...]:
        rows = self._seen.rows
        first = report.differences[0].window if report.differences else len(rows)
        value = float(len(rows) - first)
        return tuple(
            replace(check, value=value, limit=0.0) if check.result in ("pass", "fail") else check
            for check in checks_of(report, rows)
        )

    def sampled(self, recipe: Recipe) -> tuple[Check, ...]:
        """Hold the tensors of some windows against a recipe; those of its own pass.

        For a run that passes its own checks. What differs there differs in the whole run.
        """
        plan = resolved(canonical_plan(recipe), self._seen.names)
        for number in self._sample:
            difference = self._tensors_differ(plan, number)
            if difference:
                words = f"window {number}, {difference}"
                return (Check(level="L1b", name=NAMES["L1b"], result="fail", wording=words),)
        return (Check(level="L1b", name=NAMES["L1b"], result="pass", wording="nothing differs"),)

    def _tensors_differ(self, plan: Plan, number: int) -> str:
        """Return the first thing that a window has otherwise than a plan; empty if nothing."""
        state = self._state(plan, number)
        if _same(self._left(plan, number, state), self._own[number]):
            return ""
        first = ""
        for reading in readings(plan, self.framework, self._seen):
            powers = reading.rounded_powers
            window = WindowBounds(reading.plan, self._toy, state, number, rounded_powers=powers)
            differences = differences_in(window, self._toy, self._seen, Report())
            if not differences:
                return ""
            first = differences[0].what
        return first

    def _left(self, plan: Plan, number: int, state: State) -> Arrays:
        row = step(plan, state, self._toy.work(number), ROLES)[1]
        return {**tensors(row), "grad_norm": np.array(row.grad_norm)}

    def _state(self, plan: Plan, number: int) -> State:
        """Return the state before a window: tensors of the run, counts as its trace has them."""
        schedule = plan.find(Schedule)
        updates = int(self._seen.rows[number - 1]["updates"]) if number else 0
        by_attempt = schedule is not None and schedule.tick == "attempt"
        fresh = replace(
            initial(plan, self._toy.parameters),
            scale=self._scales[number],
            window=number,
            updates=updates,
            position=number if by_attempt else updates,
        )
        return go_on(fresh, before_window(self._toy, self._seen, number))

    @cached_property
    def _loaded(self) -> tuple[Toy, Seen]:
        return self.load()

    @property
    def _toy(self) -> Toy:
        return self._loaded[0]

    @property
    def _seen(self) -> Seen:
        return self._loaded[1]

    @cached_property
    def _plan(self) -> Plan:
        return resolved(canonical_plan(self.recipe), self._seen.names)

    @cached_property
    def _report(self) -> Report:
        return compare(canonical_plan(self.recipe), self._toy, self._seen, self.framework)

    @cached_property
    def _case(self) -> Case | None:
        return case_of(self.recipe, self._toy, self._seen, self.framework, self._report)

    @cached_property
    def _scales(self) -> list[loss_scale.ScaleState]:
        """The state of the loss scale before every window."""
        machine = self._plan.find(UpdateScale)
        states = [loss_scale.initial(machine) if machine else loss_scale.ScaleState(1.0)]
        for row in self._seen.rows:
            finite = not row["skipped"]
            states.append(loss_scale.adjust(machine, states[-1], finite) if machine else states[-1])
        return states

    @cached_property
    def _sample(self) -> list[int]:
        """Updates early, late and in between, short windows, and an overflow."""
        rows = self._seen.rows
        updates = [number for number, row in enumerate(rows) if not row["skipped"]]
        skips = [number for number, row in enumerate(rows) if row["skipped"]]
        full = max(row["rows"] for row in rows)
        short = [number for number in updates if rows[number]["rows"] < full]
        spread = [updates[len(updates) * part // PARTS] for part in range(PARTS)] if updates else []
        ends = [*updates[1:2], *updates[-1:], *short[:1], *short[-1:], *skips[:1]]
        return list(dict.fromkeys([*spread, *ends]))

    @cached_property
    def _own(self) -> Mapping[int, Arrays]:
        """What the sample leaves by the recipe of the run, in float32."""
        plan = self._plan
        return {n: self._left(plan, n, self._state(plan, n)) for n in self._sample}


def _same(ours: Arrays, theirs: Arrays) -> bool:
    return ours.keys() == theirs.keys() and all(
        ours[key].tobytes() == theirs[key].tobytes() for key in ours
    )
