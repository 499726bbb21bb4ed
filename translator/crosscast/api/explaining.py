"""How targets implement a recipe, and what the training step of a script does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.api import html
from crosscast.api.calls import (
    Words,
    public,
    targets_of,
)
from crosscast.api.compiling import FieldVerdict, counts, verdict_tables, verdicts_of
from crosscast.api.files import counted
from crosscast.api.recipes import LoadedRecipe, RecipeLike, loaded
from crosscast.api.result import Result
from crosscast.messages.console import EXIT_FINDINGS, EXIT_OK, Exit
from crosscast.messages.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from crosscast.lift.explanation import StepBesidePlan
    from crosscast.plan.operations import Plan


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Result):
    """Verdicts on a recipe, or the training steps of a program beside the neutral one."""

    verdicts: tuple[FieldVerdict, ...] = ()
    """How every target implements every field of a recipe; empty for a program."""
    steps: tuple[StepBesidePlan, ...] = ()
    """The training steps of a program; empty for a recipe."""
    plan: Plan | None = None
    """The neutral training step of a program; None for a recipe."""
    strict: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """1 if a field is unsupported (if `strict`: not exact), or a program has errors."""
        below = {"unsupported"} | ({"adapted", "approximate"} if self.strict else set())
        failed = any(found.severity is Severity.ERROR for found in self.diagnostics)
        refused = any(found.verdict in below for found in self.verdicts)
        return EXIT_FINDINGS if failed or refused else EXIT_OK

    @property
    def summary(self) -> str:
        """The numbers of verdicts, or of training steps."""
        if self.plan is None:
            return f"verdicts: {counts(self.verdicts)}"
        return f"{counted(len(self.steps), 'training step')} beside the neutral one"

    def _html(self) -> Iterator[str]:
        yield from verdict_tables(self.verdicts)
        if self.steps:
            from crosscast.lift.plan_comparison import COLUMNS

            for step in self.steps:
                yield html.paragraph(step.function or "module level")
                yield html.table(COLUMNS, step.rows, long=("how",))


@public
def explain(source: RecipeLike, to: Words | None = None, *, strict: bool = False) -> Explanation:
    """Explain how targets implement a recipe, or show the training step of a script.

    Args:
        source: a recipe or its path, or the path of a script or a launch script.
        to: targets; all frameworks without it.
        strict: whether every verdict below exact counts as a finding.

    Raises:
        DiagnosticError: the file cannot be read, the recipe is invalid, or nothing trains there.
    """
    if not isinstance(source, LoadedRecipe):
        from crosscast.lift.programs import is_program

        path = os.fspath(source)
        if is_program(path):
            from crosscast.lift.explanation import program_steps

            found = program_steps(path)
            return Explanation(steps=found.steps, plan=found.plan, diagnostics=found.diagnostics)
    from crosscast.targets.backend import find_target, program_names
    from crosscast.targets.capability import judge

    recipe = loaded(source)
    verdicts = [
        verdict
        for name in (targets_of(to) if to else program_names())
        for verdict in verdicts_of(name, judge(recipe.fields, find_target(name).rows))
    ]
    return Explanation(verdicts=tuple(verdicts), strict=strict, diagnostics=recipe.open)
