"""Memory estimate of a recipe on a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

from crosscast.memory.records import COMPONENTS, Component, Device, Estimate, TracedModel
from crosscast.memory.simple_formula import simple_formula
from crosscast.memory.tape import Tape
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.backend import Dialect, Target


@runtime_checkable
class Accountant(Protocol):
    """A backend that can simulate a step; an optional part of `targets.backend.Backend`."""

    def rehearse(
        self, recipe: Recipe, dialect: Dialect, device: Device, traced: TracedModel | None
    ) -> Rehearsal | None:
        """Return the allocations of a window of the emitted script; None if not modelled.

        Imports no framework.
        """


class Rehearsal(Protocol):
    """Result of a backend's simulation."""

    @property
    def tape(self) -> Tape:
        """The tape after the window."""

    @property
    def fixed_bytes(self) -> int:
        """Bytes allocated between windows."""

    @property
    def forward_bytes(self) -> int:
        """Bytes allocated at the end of a micro-batch's forward pass."""

    @property
    def margin_bytes(self) -> int:
        """Additional bytes to keep free."""

    @property
    def notes(self) -> Mapping[str, str]:
        """A remark by component."""


def has_model(target: Target) -> bool:
    """Whether a target's scripts for the shipped BERT are simulated."""
    return target.runs and isinstance(target.backend, Accountant)


def way_of(target: Target) -> Literal["trace", "allocations"] | None:
    """Return the program that finds what is not simulated: a trace, or short runs."""
    harness = target.backend.harness if target.runs else None
    if harness is None or not harness.has("allocations"):
        return None
    return "trace" if harness.has("trace") else "allocations"


def estimate(
    recipe: Recipe, target: Target, *, device: Device, traced: TracedModel | None = None
) -> Estimate:
    """Return the memory that one process of a recipe needs at its peak.

    Args:
        recipe: The recipe.
        target: The target.
        device: Where it runs.
        traced: Trace of the user's model, if it is custom.

    Raises:
        DiagnosticError: CC450 for a custom model without a trace, CC451 for a target without a
            memory model.
    """
    backend: object = target.backend
    custom = not isinstance(recipe.model, BertModel)
    way = way_of(target)
    if not has_model(target) and (way is None or not custom):
        hint = "" if way is None else "plan --trace lets its compiler plan the step, on a CPU"
        raise _error("CC451", "", f"{target.name}: its memory is not modelled", hint)
    if custom and way is None:
        message = "the memory of a custom model cannot be found there"
        raise _error("CC451", "", f"{target.name}: {message}")
    if custom and traced is None:
        message = "the size of a custom model is not known"
        hint = (
            "use plan --trace to find it; this imports and calls the functions of model.factory "
            "in processes of their own, so use it only for code that you trust"
        )
        raise _error("CC450", "model", message, hint)
    assert isinstance(backend, Accountant)  # or the step is run instead (`way_of`)
    rehearsal = backend.rehearse(recipe, target.dialect, device, traced)
    if rehearsal is None:
        raise _error("CC451", "", f"{target.name}: the memory of this recipe is not modelled")
    peak = rehearsal.tape.peak
    return Estimate(
        target=target.name,
        device=device,
        components=_components(peak.parts, rehearsal.notes),
        peak_bytes=peak.total,
        peak_phase=peak.phase,
        margin_bytes=rehearsal.margin_bytes,
        simple_formula_bytes=simple_formula(recipe, traced),
        evidence="estimated" if traced is None else "traced",
        forward_bytes=rehearsal.forward_bytes,
        fixed_bytes=rehearsal.fixed_bytes,
    )


def _error(code: str, path: str, message: str, hint: str = "") -> DiagnosticError:
    return DiagnosticError(Diagnostic(code=code, path=path, message=message, hint=hint))


def _components(
    parts: Mapping[tuple[str, str], int], notes: Mapping[str, str]
) -> tuple[Component, ...]:
    rows = []
    for name in COMPONENTS:
        own = {dtype: size for (part, dtype), size in parts.items() if part == name and size}
        if own:
            dtypes = sorted(own, key=lambda dtype: -own[dtype])
            rows.append(Component(name, sum(own.values()), "+".join(dtypes), notes.get(name, "")))
    return tuple(rows)
