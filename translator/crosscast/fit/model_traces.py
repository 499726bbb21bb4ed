"""Traces of the user's model for the solver, made once for each precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from crosscast.memory.estimate import estimate
from crosscast.memory.records import Estimate, TracedModel
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.backend import find_target

Tracer = Callable[[Recipe], TracedModel]
"""Runs the user's code. Raises `DiagnosticError` if it cannot be traced."""


@dataclass(slots=True)
class Estimates:
    """Estimates for GPUs, based on traces if the model is the user's and tracing is allowed.

    A trace is valid for every number of rows, so only another precision needs another trace.
    """

    trace: Tracer | None
    """None: the user's code must not run."""
    known: dict[tuple[str, str], TracedModel | DiagnosticError] = field(default_factory=dict)
    """By `precision.mode` and type; failed traces are kept, as they would fail again."""

    def of(self, recipe: Recipe, target: str) -> Estimate:
        """Return the memory of a recipe on a target.

        Raises:
            DiagnosticError: CC450 or CC451 without an estimate, CC452 and others of the trace.
        """
        found = find_target(target)
        traces = getattr(found.backend, "traces_models", False)
        if isinstance(recipe.model, BertModel) or self.trace is None or not traces:
            return estimate(recipe, found, device="cuda")
        return estimate(recipe, found, device="cuda", traced=self._traced(recipe, self.trace))

    def _traced(self, recipe: Recipe, trace: Tracer) -> TracedModel:
        key = (recipe.precision.mode, recipe.precision.compute_dtype)
        if key not in self.known:
            try:
                self.known[key] = trace(recipe)
            except DiagnosticError as error:
                self.known[key] = error
        found = self.known[key]
        if isinstance(found, DiagnosticError):
            raise found
        return found
