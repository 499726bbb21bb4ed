"""From a Plan and a Frame to the files of a script."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from crosscast.emit.frame import Frame, frame_of
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Dialect, File, Form, Lowered


@runtime_checkable
class PlanPrinter(Protocol):
    """A backend with a dialect that emits a script."""

    def print_plan(
        self, plan: Plan, frame: Frame, dialect: Dialect, form: Form
    ) -> tuple[File, ...]:
        """Return the files of a plan, with its operations in its order."""


def print_script(
    printer: PlanPrinter, plan: Plan, recipe: Recipe, dialect: Dialect, form: Form
) -> Lowered:
    """Return a plan of a recipe and the files that a backend prints of it."""
    return Lowered(plan=plan, files=printer.print_plan(plan, frame_of(recipe), dialect, form))
