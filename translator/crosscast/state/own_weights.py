"""States of custom models, converted by the `weights.yaml` beside their recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, failure
from crosscast.state.problems import listed, several
from crosscast.state.slots import FACTORED
from crosscast.state.training_state import Account, TrainingState
from crosscast.weights.convert import converted, doubled
from crosscast.weights.document import NAME, WeightsMap
from crosscast.weights.layout import SAME, Layout, Misfit
from crosscast.weights.reader import check_against, read_weights

if TYPE_CHECKING:
    import numpy as np

_TURNED = Layout(axes=(1, 0))
_BY = "by weights.yaml"


def map_beside(recipe: str, frameworks: tuple[str, str]) -> WeightsMap | None:
    """Return the map beside a recipe; None if there is none for these frameworks.

    Raises:
        DiagnosticError: CC001-CC015 and CC763 for the file.
    """
    path = Path(recipe).parent / NAME
    if not recipe or recipe == "-" or not path.is_file():
        return None
    known = read_weights(str(path))
    return known if set(frameworks) <= set(known.frameworks) else None


def apply_weights(
    state: TrainingState, known: WeightsMap, of: str, to: str, account: Account, *, like: bool
) -> tuple[TrainingState, list[Diagnostic]]:
    """Return a state with the names and layouts of another framework, and warnings.

    Args:
        state: Of the framework `of`.
        known: The map.
        of: Framework of the state.
        to: The other framework.
        account: Receives rows for the report.
        like: Whether what only the target has is taken from a file of it.

    Raises:
        DiagnosticError: CC763 for tensors that the map does not know or that have other shapes,
            CC964 for moments that cannot follow, and for tensors that only the target has.
    """
    check_against(known, of, {n: a.shape for n, a in state.weights.items()}, set())
    left = known.left.get(to, ())
    if left and not like:
        hint = "pass --like with a model.safetensors that its script has written (--windows 1)"
        raise failure("CC964", f"{known.file}: only {to} has {listed(left)}", hint)
    trained = {name for arrays in state.moments.values() for name in arrays}
    dropped = sorted(trained & set(known.left.get(of, ())))
    if dropped:
        raise failure("CC964", f"{known.file}: {listed(dropped)} is trained, and {to} has none")
    try:
        result = replace(
            state,
            weights=converted(state.weights, known, of, to),
            moments=_moments(state.moments, known, of, to),
            averages=_trained(converted(state.averages, known, of, to), known, to),
        )
    except Misfit as error:
        raise failure("CC964", f"{known.file}: {error}") from None
    account.add("weights", len(result.weights), "turned", f"{_BY}, also moments and averages")
    return result, _warnings(known, of, to)


def _moments(
    moments: Mapping[str, Mapping[str, np.ndarray]], known: WeightsMap, of: str, to: str
) -> dict[str, dict[str, np.ndarray]]:
    """Return moments by slot; a tied weight has one, by its first name."""
    first = known.of(to)
    by_slot: dict[str, dict[str, np.ndarray]] = {slot: {} for slot in moments}
    factored = {name for slot in FACTORED for name in moments.get(slot, {})}
    pairs, problems = _swaps(known, of, to, factored)
    if problems:
        raise DiagnosticError(*several("CC964", (f"{known.file}: {text}" for text in problems)))
    for slot, arrays in moments.items():
        if slot in FACTORED:
            for name, array in arrays.items():
                if name in pairs:
                    other, swapped = pairs[name]
                    own = FACTORED[slot] if swapped else slot
                    by_slot.setdefault(own, {})[other] = array.T if swapped else array
            continue
        of_slot = converted(arrays, known, of, to, "gradients")
        by_slot[slot] = {n: a for n, a in _trained(of_slot, known, to).items() if n in first}
    return by_slot


def _trained(
    arrays: Mapping[str, np.ndarray], known: WeightsMap, framework: str
) -> dict[str, np.ndarray]:
    """Return the arrays of weights that a framework trains."""
    frozen = known.frozen(framework)
    return {name: array for name, array in arrays.items() if name not in frozen}


def _swaps(
    known: WeightsMap, of: str, to: str, factored: set[str]
) -> tuple[dict[str, tuple[str, bool]], list[str]]:
    """Return for factored moments of weights that both train the other name, and whether rows
    become columns."""
    by_name: dict[str, tuple[str, bool]] = {}
    problems = []
    for name in sorted(factored):
        held = known.of(of).get(name, [])
        places = []
        if len(held) == 1 and to in held[0][0].places:
            places = [held[0][1], held[0][0].places[to]]
        if not places or any(p.layout not in (SAME, _TURNED) or p.shape for p in places):
            problems.append(f"{name!r}: its factored moments allow only a swap of two axes")
        elif not places[1].frozen:
            by_name[name] = places[1].name, places[0].layout != places[1].layout
    return by_name, problems


def _warnings(known: WeightsMap, of: str, to: str) -> list[Diagnostic]:
    return [
        Diagnostic(code="CC765", message=f"{known.file}: {text}", severity=Severity.WARNING)
        for text in _doubts(known, of, to)
    ]


def _doubts(known: WeightsMap, of: str, to: str) -> Iterator[str]:
    both = [entry for entry in known.entries if {of, to} <= set(entry.places)]
    doubtful = [entry.name for entry in both if not entry.proved]
    if doubtful:
        yield f"not proved: {listed(doubtful)}"
    summed = doubled(known)
    sums = summed[of] | summed[to]
    if sums:
        yield f"{listed(sums)}: one bias here, two there, whose sum a step moves twice as far"
