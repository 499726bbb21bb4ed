"""`crosscast state`: read a training state of one framework, check it, write it for another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Collector, Diagnostic, Severity, failure
from crosscast.state.emitted import check
from crosscast.state.layout_map import apply_map, read_map
from crosscast.state.naming import is_shipped
from crosscast.state.own_weights import apply_weights, map_beside
from crosscast.state.problems import several
from crosscast.state.sources import (
    Request,
    emitted_state,
    is_safe,
    recipe_of,
    require_packages,
    saved_state,
    source_path,
    target_of,
)
from crosscast.state.store import check_place, place_of, write_state
from crosscast.state.training_state import Account, Part, TrainingState
from crosscast.state.weights_check import complete
from crosscast.targets.backend import Target

if TYPE_CHECKING:
    from crosscast.recipe.document import Recipe
    from crosscast.weights.document import WeightsMap


@dataclass(slots=True)
class Outcome:
    """Result of reading or converting a state: the state, the report and the output path."""

    source: Path
    state: TrainingState
    rows: list[Part]
    notes: list[Diagnostic] = field(default_factory=list)
    position: str = ""
    output: Path | None = None


def convert(request: Request) -> Outcome:
    """Read a state, check it and write it for another framework.

    Raises:
        DiagnosticError: All problems together; nothing was written then.
    """
    require_packages()
    of, to = target_of(request.of), target_of(request.to)
    source = source_path(request.source, of.backend.name)
    beside = f"{source.stem}.{to.backend.name}.safetensors"
    place = place_of(request.output) if request.output else source.with_name(beside)
    check_place(place, source, force=request.force)
    outcome = read(request, source, of, to)
    write_state(place, outcome.state)
    outcome.output = place
    return outcome


def show(request: Request) -> Outcome:
    """Read and check a state.

    Raises:
        DiagnosticError: All problems together.
    """
    require_packages()
    of = target_of(request.of)
    return read(request, source_path(request.source, of.backend.name), of, of)


def read(request: Request, source: Path, of: Target, to: Target) -> Outcome:
    """Return a state for the target, checked against the recipe if there is one."""
    collect, account = Collector(), Account()
    recipe = recipe_of(request.recipe)
    known = _weights_map(request, of, to, recipe)
    if is_safe(source):
        named_alike = not request.layout and known is None
        state = emitted_state(request, source, account, named_alike=named_alike)
    else:
        state = saved_state(request, source, of, recipe, account, collect)
        collect.raise_errors()
        collect.diagnostics += several(
            "CC961", (f"{source}: {problem}" for problem in check(state))
        )
        collect.raise_errors()
    if known is not None:
        names, like = (of.backend.name, to.backend.name), bool(request.like)
        state, doubts = apply_weights(state, known, *names, account, like=like)
        collect.diagnostics += doubts
    else:
        state = _place(request, state, of, to, recipe, account)
    if request.like:
        state = complete(state, request.like, account)
    _compare(source, state, recipe, collect)
    collect.raise_errors()
    account.add("dropout", 0, "left out", "derived from the seed and the number of the window")
    state = _with_rows(request, source, state)
    position = _position(request, state, recipe)
    return Outcome(source, state, account.rows, collect.diagnostics, position)


def _weights_map(
    request: Request, of: Target, to: Target, recipe: Recipe | None
) -> WeightsMap | None:
    """Return the map of weights that a conversion goes by, if there is one beside the recipe."""
    same = of.backend.name == to.backend.name
    if same or request.layout or recipe is None or recipe.model.kind == "bert":
        return None
    return map_beside(request.recipe, (of.backend.name, to.backend.name))


def _place(
    request: Request,
    state: TrainingState,
    of: Target,
    to: Target,
    recipe: Recipe | None,
    account: Account,
) -> TrainingState:
    """Return the state with the names and the layout of the target."""
    if request.layout:
        return apply_map(state, read_map(request.layout), account)
    shipped = is_shipped(state.weights) if recipe is None else recipe.model.kind == "bert"
    if shipped or of.backend.name == to.backend.name:
        return state
    message = f"weights of a custom model differ in name and layout ({_ways(of, to)})"
    hint = (
        "run `crosscast weights match RECIPE` and pass --recipe RECIPE, or write a map by hand: "
        "--layout MAP.json (docs/reference/state.md)"
    )
    raise failure("CC964", f"{request.source}: {message}", hint)


def _ways(*targets: Target) -> str:
    """Return how each framework names such weights."""
    backends = [target.backend for target in targets]
    return "; ".join(f"{b.name}: {b.framework.weights.own}" for b in backends if b.framework)


def _compare(source: Path, state: TrainingState, recipe: Recipe | None, collect: Collector) -> None:
    from crosscast.state.recipe_check import misfits

    if recipe is not None:
        collect.diagnostics += several(
            "CC962", (f"{source}: {problem}" for problem in misfits(state, recipe))
        )
    else:
        message = f"{source}: checked without its recipe; pass --recipe to compare them"
        collect.add(Diagnostic(code="CC962", message=message, severity=Severity.NOTE))


def _with_rows(request: Request, source: Path, state: TrainingState) -> TrainingState:
    """Return the state with the number of training rows, if the file or the user gives it."""
    if request.rows is None:
        return state
    if state.rows not in (None, request.rows):
        raise failure("CC969", f"--rows {request.rows}: {source} was written with {state.rows}")
    return replace(state, rows=request.rows)


def _position(request: Request, state: TrainingState, recipe: Recipe | None) -> str:
    if recipe is None and request.rows is not None:
        raise failure("CC969", "--rows needs --recipe, which defines the windows")
    if recipe is None or state.rows is None:
        return ""
    from crosscast.state.data_position import data_position

    position = data_position(recipe, state.rows, state.windows)
    if position is None:
        raise failure("CC969", f"{state.rows} training rows are too few for one window")
    return str(position)


def as_json(outcome: Outcome, request: Request) -> dict[str, Any]:
    """Return the report as plain data."""
    state = outcome.state
    return {
        "version": 1,
        "source": str(outcome.source),
        "from": request.of,
        "to": request.to or None,
        "output": None if outcome.output is None else str(outcome.output),
        "recipe": state.recipe,
        "counters": state.counters(),
        "weights": {name: list(array.shape) for name, array in state.weights.items()},
        "moments": {slot: len(arrays) for slot, arrays in state.moments.items()},
        "averages": len(state.averages),
        "position": outcome.position or None,
        "parts": [row.to_json() for row in outcome.rows],
        "diagnostics": [note.to_json() for note in outcome.notes],
    }
