"""From a Plan and a Frame to the files of a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from crosscast.emit.frame import Frame, frame_of
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Dialect, File, Form, Lowered
from crosscast.targets.capability import Judgement, adaptations


@runtime_checkable
class PlanPrinter(Protocol):
    """A backend with a dialect that emits a script."""

    def print_plan(
        self, plan: Plan, frame: Frame, dialect: Dialect, form: Form
    ) -> tuple[File, ...]:
        """Return the files of a plan, with its operations in its order."""


def print_script(
    printer: PlanPrinter,
    plan: Plan,
    recipe: Recipe,
    judgements: Sequence[Judgement],
    dialect: Dialect,
    form: Form,
) -> Lowered:
    """Return a plan of a recipe with its adaptations, and the files that a backend prints of it."""
    adapted = replace(plan, adapted=adaptations(judgements))
    files = printer.print_plan(adapted, frame_of(recipe), dialect, form)
    return Lowered(plan=adapted, files=files)
