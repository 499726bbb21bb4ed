"""Traces and short runs of the user's model for the solver, made once for each precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from crosscast.fit.devices import GpuModel
from crosscast.memory.estimate import estimate, has_model, way_of
from crosscast.memory.measured import estimate_of_runs
from crosscast.memory.records import Device, Estimate, MeasuredModel, TracedModel
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.backend import find_target

Seen = TracedModel | MeasuredModel
Look = Callable[[Recipe, str, bool], Seen]
"""Runs a model for a target: traces it, or makes short runs. Raises `DiagnosticError` if its memory
cannot be found."""


@dataclass(slots=True)
class Estimates:
    """Estimates for GPUs, based on traces or short runs where nothing is simulated and it may run.

    They hold for every number of rows, so only another precision or checkpointing needs others.
    """

    look: Look | None
    """None: the user's code must not run."""
    gpu: GpuModel | None = None
    """None: one before Hopper."""
    known: dict[tuple[str, str, str, bool], Seen | DiagnosticError] = field(default_factory=dict)
    """By target, `precision.mode`, type, checkpointing; failures are kept, as they would repeat."""

    def of(self, recipe: Recipe, target: str) -> Estimate:
        """Return the memory of a recipe on a target.

        Raises:
            DiagnosticError: CC450 or CC451 without an estimate, CC452 and others of what was run.
        """
        backend_target = find_target(target)
        device: Device = self.gpu.memory_model if self.gpu else "cuda"
        way = way_of(backend_target)
        simulated = isinstance(recipe.model, BertModel) and has_model(backend_target)
        if simulated or self.look is None or way is None:
            return estimate(recipe, backend_target, device=device)
        seen = self._seen(recipe, target, self.look, traced=way == "trace")
        if isinstance(seen, MeasuredModel):
            return estimate_of_runs(recipe, backend_target, device, seen)
        return estimate(recipe, backend_target, device=device, traced=seen)

    def _seen(self, recipe: Recipe, target: str, look: Look, *, traced: bool) -> Seen:
        again = recipe.activation_checkpointing
        key = (target, recipe.precision.mode, recipe.precision.compute_dtype, again)
        if key not in self.known:
            try:
                self.known[key] = look(recipe, target, traced)
            except DiagnosticError as error:
                self.known[key] = error
        known = self.known[key]
        if isinstance(known, DiagnosticError):
            raise known
        return known
