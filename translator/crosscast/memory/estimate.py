"""How much memory a recipe needs on a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from crosscast.memory.records import COMPONENTS, Component, Device, Estimate, TracedModel
from crosscast.memory.simple_formula import simple_formula
from crosscast.memory.tape import Tape
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.backend import Dialect, Target


@runtime_checkable
class Accountant(Protocol):
    """A backend that can rehearse a step; an optional part of `targets.backend.Backend`."""

    traces_models: bool
    """Whether a trace of a model of one's own can be had; else such a model is not modelled."""

    def rehearse(
        self, recipe: Recipe, dialect: Dialect, device: Device, traced: TracedModel | None
    ) -> Rehearsal | None:
        """Return what a window of the emitted script allocates; None if that is not modelled.

        Imports no framework.
        """


class Rehearsal(Protocol):
    """What a backend answers."""

    @property
    def tape(self) -> Tape:
        """The tape after the window."""

    @property
    def fixed_bytes(self) -> int:
        """What is held between windows."""

    @property
    def forward_bytes(self) -> int:
        """What is held where the forward pass of a micro-batch ends."""

    @property
    def margin_bytes(self) -> int:
        """What to keep free besides."""

    @property
    def notes(self) -> Mapping[str, str]:
        """A remark by component."""


def estimate(
    recipe: Recipe, target: Target, *, device: Device, traced: TracedModel | None = None
) -> Estimate:
    """Return the memory that one process of a recipe needs at its peak.

    Args:
        recipe: What is trained.
        target: For which framework.
        device: `cpu`, or `cuda` for one GPU.
        traced: For a model of one's own: what a trace of it saw.

    Raises:
        DiagnosticError: CC450 for a model of one's own without a trace, CC451 for a target whose
            memory is not modelled.
    """
    backend: object = target.backend
    if not target.runs or not isinstance(backend, Accountant):
        raise _error("CC451", "", f"{target.name}: its memory is not modelled")
    if not isinstance(recipe.model, BertModel):
        if not backend.traces_models:
            message = "what a model of your own keeps can only be found out in PyTorch"
            raise _error("CC451", "", f"{target.name}: {message}", hint="--to torch")
        if traced is None:
            message = "the size of a custom model is not known"
            hint = (
                "use plan --trace to measure it; this imports and calls model.factory.torch "
                "in a separate process, so use it only for code that you trust"
            )
            raise _error("CC450", "model", message, hint)
    done = backend.rehearse(recipe, target.dialect, device, traced)
    if done is None:
        raise _error("CC451", "", f"{target.name}: the memory of this recipe is not modelled")
    peak = done.tape.peak
    return Estimate(
        target=target.name,
        device=device,
        components=_components(peak.parts, done.notes),
        peak_bytes=peak.total,
        peak_phase=peak.phase,
        margin_bytes=done.margin_bytes,
        simple_formula_bytes=simple_formula(recipe, traced),
        forward_bytes=done.forward_bytes,
        fixed_bytes=done.fixed_bytes,
    )


def _error(code: str, path: str, message: str, hint: str = "") -> DiagnosticError:
    return DiagnosticError(Diagnostic(code=code, path=path, message=message, hint=hint))


def _components(
    parts: Mapping[tuple[str, str], int], notes: Mapping[str, str]
) -> tuple[Component, ...]:
    found = []
    for name in COMPONENTS:
        own = {dtype: size for (part, dtype), size in parts.items() if part == name and size}
        if own:
            dtypes = sorted(own, key=lambda dtype: -own[dtype])
            found.append(Component(name, sum(own.values()), "+".join(dtypes), notes.get(name, "")))
    return tuple(found)
