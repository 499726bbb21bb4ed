"""`crosscast explain` of a program: its training step beside the neutral one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.batch import groups_of, read_sources
from crosscast_reading.lift.drafting import is_unread, lift
from crosscast_reading.lift.plan_comparison import COLUMNS, ComparedRow, beside


@dataclass(frozen=True, slots=True)
class StepBesidePlan:
    """One training step of a program beside the Plan of its recipe."""

    function: str
    """Empty for the module level."""
    rows: tuple[ComparedRow, ...]
    """Part, the plan, the program, its place, and how it is done."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in self.rows]
        return {"function": self.function, "rows": rows}


@dataclass(frozen=True, slots=True)
class ProgramSteps:
    """The Plan of a program's recipe, and every training step of the program beside it."""

    plan: Plan
    steps: tuple[StepBesidePlan, ...]
    diagnostics: tuple[Diagnostic, ...]


def program_steps(path: str) -> ProgramSteps:
    """Return the training steps of a program beside the Plan of its recipe.

    Raises:
        DiagnosticError: CC0xx if the file cannot be read, CC915 if nothing trains there.
    """
    sources, problems = read_sources([path])
    if not sources:
        raise DiagnosticError(*problems)
    groups = groups_of(sources, [path])
    own = [group for group in groups if any(source.name == path for source in group)]
    lifted = lift(analyse((own or groups or [tuple(sources)])[0]))
    steps = lifted.analysis.subject.steps
    if lifted.recipe is None or not steps:
        message = f"{path}: no training loop that could be set beside a plan"
        hint = "a library may run the loop; `crosscast lift` says what was read"
        if is_unread(lifted.diagnostics) and not lifted.fields:
            hint = ""
        raise DiagnosticError(
            *lifted.diagnostics, Diagnostic(code="CC915", message=message, hint=hint)
        )
    plan = canonical_plan(lifted.recipe)
    beside_plan = (
        StepBesidePlan(step.function, tuple(beside(step, plan, lifted.fields))) for step in steps
    )
    return ProgramSteps(plan, tuple(beside_plan), lifted.diagnostics)
