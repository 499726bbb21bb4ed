"""Settings that fit a memory limit, for every target of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity

if TYPE_CHECKING:
    from crosscast.api.recipes import LoadedRecipe
    from crosscast.fit.model_traces import Estimates
    from crosscast.fit.solver import Outcome, Request
    from crosscast.recipe.document import Recipe

_NOT_FOR_IT = ("CC305", "CC401", "CC451")
"""Codes of default targets to skip: no model factory, no framework, or no memory model."""


def solve_all(
    given: LoadedRecipe,
    targets: Sequence[str],
    chosen: bool,
    request: Request,
    diagnostics: list[Diagnostic],
    estimates: Estimates,
) -> list[Outcome]:
    """Solve for every target; problems go to `diagnostics`, and one does not affect other targets.

    `chosen`: whether the user named the targets.
    """
    from crosscast.fit.explanations import cannot_fit, not_native
    from crosscast.fit.outcome_tables import remarks

    recipe = given.fields
    foreign = not_native(recipe, request)
    if foreign:
        raise given.placed.placed(DiagnosticError(foreign))
    outcomes: list[Outcome] = []
    skipped: list[Diagnostic] = []
    for target in targets:
        try:
            outcome = _solve(recipe, target, request, estimates)
        except DiagnosticError as error:
            placed = given.placed.placed(error).diagnostics
            problems = [problem for problem in placed if problem.severity is Severity.ERROR]
            skip = not chosen and any(problem.code in _NOT_FOR_IT for problem in problems)
            kept = skipped if skip else diagnostics
            kept += [problem for problem in problems if problem not in kept]
            continue
        outcomes.append(outcome)
        if not outcome.answers:
            # Short runs take too long to be made for a hint.
            ran = outcome.now.estimate.evidence in ("measured", "planned")
            asks = not request.precision and not ran
            helps = asks and _fits_otherwise(recipe, target, request, estimates)
            diagnostics.append(cannot_fit(outcome, request, with_precision=helps))
    diagnostics += remarks(recipe, outcomes)
    final = outcomes or exit_code_of(diagnostics)
    diagnostics += [
        replace(problem, severity=Severity.NOTE) if final else problem for problem in skipped
    ]
    return outcomes


def _solve(recipe: Recipe, target: str, request: Request, estimates: Estimates) -> Outcome:
    from crosscast.emit.compiler import compile_recipe
    from crosscast.fit.solver import solve

    def check(variant: Recipe) -> None:
        compile_recipe(variant, [target])

    return solve(
        recipe, target, request, estimate=lambda variant: estimates.of(variant, target), check=check
    )


def _fits_otherwise(recipe: Recipe, target: str, request: Request, estimates: Estimates) -> bool:
    """Whether there is an answer with another precision."""
    try:
        return bool(
            _solve(recipe, target, replace(request, precision=True, most=1), estimates).answers
        )
    except DiagnosticError:  # a trace in another precision
        return False
