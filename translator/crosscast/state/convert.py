"""`crosscast state`: read a training state of one framework, check it, write it for another."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.diagnostics import Collector, Diagnostic, Severity
from crosscast.state.container import looks_like_one, open_container
from crosscast.state.emitted import check, read_emitted
from crosscast.state.layout_map import apply_map, read_map
from crosscast.state.like import complete
from crosscast.state.naming import NAMINGS, is_shipped
from crosscast.state.problems import fail, several
from crosscast.state.store import NAME, check_place, place_of, write_state
from crosscast.state.training_state import Account, Part, TrainingState
from crosscast.target import Target, find_target

if TYPE_CHECKING:
    from crosscast.recipe import Recipe

_LAUNCH_ONLY = "launch-only"


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for; None and empty where it says nothing."""

    source: str
    of: str = "torch"
    to: str = ""
    output: str = ""
    recipe: str = ""
    layout: str = ""
    like: str = ""
    windows: int | None = None
    updates: int | None = None
    rows: int | None = None
    force: bool = False


@dataclass(slots=True)
class Outcome:
    """What was read, what became of it, and where it went."""

    source: Path
    state: TrainingState
    rows: list[Part]
    notes: list[Diagnostic] = field(default_factory=list)
    position: str = ""
    output: Path | None = None


def convert(request: Request) -> Outcome:
    """Read a state, check it and write it for another framework.

    Raises:
        DiagnosticError: Everything that is wrong, at once; nothing was written then.
    """
    require_packages()
    source, of, to = source_path(request.source), _target(request.of), _target(request.to)
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
        DiagnosticError: Everything that is wrong, at once.
    """
    require_packages()
    of = _target(request.of)
    return read(request, source_path(request.source), of, of)


def keys_of(request: Request) -> list[tuple[str, int, int, str]] | None:
    """Return the keys of a file of torch.save that no recipe is given for; else None.

    Raises:
        DiagnosticError: As `outline.outline`.
    """
    require_packages()
    source = source_path(request.source)
    if request.recipe or _is_safe(source):
        return None
    from crosscast.state.outline import outline

    return outline(source, _target(request.of).backend.name)


def _is_safe(source: Path) -> bool:
    """Whether a file is to be read as safetensors."""
    return looks_like_one(source) or source.suffix == ".safetensors"


def read(request: Request, source: Path, of: Target, to: Target) -> Outcome:
    """Return a state as the target has it, checked against the recipe if there is one."""
    collect, account = Collector(), Account()
    recipe = _recipe(request.recipe)
    if _is_safe(source):
        state = _read_emitted(request, source, account)
    else:
        state = _read_saved(request, source, of, recipe, account, collect)
        collect.raise_errors()
    state = _place(request, state, of, to, recipe, account)
    if request.like:
        state = complete(state, request.like, account)
    _check(source, state, recipe, collect)
    collect.raise_errors()
    account.add("dropout", 0, "left out", "drawn anew in every window, from seed and window")
    position = _position(request, state, recipe)
    return Outcome(source, state, account.rows, collect.found, position)


def source_path(text: str) -> Path:
    """Return the file that is meant: itself, or the checkpoint of a script's output folder."""
    path = Path(text)
    try:
        return path / NAME if path.is_dir() else path
    except (OSError, ValueError) as error:
        raise fail("CC003", f"{text}: {getattr(error, 'strerror', None) or error}") from None


def require_packages() -> None:
    """Check that what the commands import is there.

    Raises:
        DiagnosticError: CC401.
    """
    missing = [name for name in ("numpy", "safetensors") if not importlib.util.find_spec(name)]
    if missing:
        message = f"training states need the package {' and '.join(missing)}"
        raise fail("CC401", message, 'pip install "crosscast[parity]"')


def _target(text: str) -> Target:
    """Return a target whose scripts write checkpoints."""
    target = find_target(text)
    if _LAUNCH_ONLY in target.dialect.features:
        message = f"{text}: launches a script that you have, and writes no checkpoint of its own"
        raise fail("CC969", message)
    return target


def _recipe(path: str) -> Recipe | None:
    if not path:
        return None
    from crosscast.readers.recipe_yaml import load

    return load(path)


def _read_emitted(request: Request, source: Path, account: Account) -> TrainingState:
    if request.windows is not None or request.updates is not None:
        raise fail("CC969", "--windows and --updates are for files of torch.save")
    state = read_emitted(open_container(source))
    if not request.layout:
        account.add("weights", len(state.weights), "carried", "the same name and layout")
    for slot, arrays in state.moments.items():
        account.add(slot, len(arrays), "carried", "raw: the same whatever epsilon and correction")
    if not state.moments:
        account.add("moments", 0, "carried", "SGD without momentum keeps none")
    if state.averages:
        account.add("averages", len(state.averages), "carried", "float32")
    if state.scale is not None:
        scale = state.scale
        how = f"{scale.scale:g}, {scale.good} clean and {scale.bad} overflowed windows"
        account.add("loss scale", 4, "carried", f"{how}, {scale.stuck} hopeless")
    account.add("windows", 1, "carried", f"{state.windows}: schedule, data, order, dropout")
    account.add("updates", 1, "carried", f"{state.updates}: schedule, bias correction")
    return state


def _read_saved(
    request: Request,
    source: Path,
    of: Target,
    recipe: Recipe | None,
    account: Account,
    collect: Collector,
) -> TrainingState:
    from crosscast.state.saved import saved_file
    from crosscast.state.torch_state import Given, read_saved

    if recipe is None:
        hint = "lift it from the script: crosscast lift train.py -o recipe.yaml"
        raise fail("CC969", f"{source}: what its numbers mean needs --recipe", hint)
    given = Given(request.windows, request.updates)
    with saved_file(source, of.backend.name) as tree:
        return read_saved(str(source), tree, recipe, given, account, collect)


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
    ways = (f"{one}: {NAMINGS[one].own}" for one in _names(of, to) if one in NAMINGS)
    message = f"weights of a model of your own differ in name and layout ({'; '.join(ways)})"
    hint = "say by --layout MAP.json what they are in the other framework (docs/state.md)"
    raise fail("CC964", f"{request.source}: {message}", hint)


def _names(*targets: Target) -> tuple[str, ...]:
    return tuple(target.backend.name for target in targets)


def _check(source: Path, state: TrainingState, recipe: Recipe | None, collect: Collector) -> None:
    from crosscast.state.against import misfits

    collect.found += several("CC961", (f"{source}: {one}" for one in check(state)))
    if recipe is not None:
        collect.found += several("CC962", (f"{source}: {one}" for one in misfits(state, recipe)))
    else:
        message = f"{source}: only looked at by itself; --recipe compares it with its recipe"
        collect.add(Diagnostic(code="CC962", message=message, severity=Severity.NOTE))


def _position(request: Request, state: TrainingState, recipe: Recipe | None) -> str:
    if request.rows is None:
        return ""
    if recipe is None:
        raise fail("CC969", "--rows needs --recipe, which says how rows make windows")
    from crosscast.state.position import data_position

    found = data_position(recipe, request.rows, state.windows)
    if found is None:
        raise fail("CC969", f"--rows {request.rows}: too few for one window")
    return str(found)


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
