"""Arguments of the commands of `crosscast state` and their files."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Collector, failure
from crosscast.state.container import is_safetensors, open_container
from crosscast.state.emitted import read_emitted
from crosscast.state.own_weights import map_beside
from crosscast.state.store import NAME
from crosscast.state.training_state import Account, TrainingState
from crosscast.targets.backend import Target, find_target

if TYPE_CHECKING:
    from crosscast.recipe.document import Recipe

_LAUNCH_ONLY = "launch-only"


@dataclass(frozen=True, slots=True)
class Request:
    """Arguments of the command line; None or empty if not given."""

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


def source_path(text: str, family: str) -> Path:
    """Return the file or folder itself, or the checkpoint in a script's output folder.

    `family` is the backend whose framework wrote it.
    """
    path = Path(text)
    try:
        inside = path / NAME
        if not path.is_dir() or (not inside.exists() and _may_be_folder(family)):
            return path
        return inside
    except (OSError, ValueError) as error:
        raise failure("CC003", f"{text}: {getattr(error, 'strerror', None) or error}") from None


def _may_be_folder(family: str) -> bool:
    """Whether programs of a framework save states that are folders."""
    from crosscast.state.saved_states import states_of

    states = states_of(family)
    return states is not None and states.folders


def require_packages() -> None:
    """Check that the required packages are installed.

    Raises:
        DiagnosticError: CC401.
    """
    missing = [name for name in ("numpy", "safetensors") if not importlib.util.find_spec(name)]
    if missing:
        message = f"training states need {' and '.join(missing)}"
        raise failure("CC401", message, 'pip install "crosscast[parity]"')


def target_of(text: str) -> Target:
    """Return a target whose scripts write checkpoints."""
    target = find_target(text)
    if _LAUNCH_ONLY in target.dialect.features:
        message = f"{text}: launches an existing script and does not write checkpoints"
        raise failure("CC969", message)
    return target


def recipe_of(path: str) -> Recipe | None:
    """Return the recipe of a file; None if no file is given."""
    if not path:
        return None
    from crosscast.recipe.load import load

    return load(path)


def keys_of(request: Request) -> list[tuple[str, int, int, str]] | None:
    """Return the keys of a user's own state if no recipe is given; otherwise None.

    Raises:
        DiagnosticError: As `outline.outline`.
    """
    require_packages()
    family = target_of(request.of).backend.name
    source = source_path(request.source, family)
    if request.recipe or is_safe(source):
        return None
    from crosscast.state.outline import outline

    return outline(source, family)


def is_safe(source: Path) -> bool:
    """Whether to read a file as safetensors."""
    return is_safetensors(source) or source.suffix == ".safetensors"


def emitted_state(
    request: Request, source: Path, account: Account, *, named_alike: bool
) -> TrainingState:
    """Return the state in the checkpoint of an emitted script, with rows for the report.

    `named_alike`: whether the target has the same names and layouts.
    """
    if request.windows is not None or request.updates is not None:
        raise failure("CC969", "--windows and --updates are for files of other programs")
    state = read_emitted(open_container(source))
    if named_alike:
        account.add("weights", len(state.weights), "carried", "the same name and layout")
    for slot, arrays in state.moments.items():
        account.add(slot, len(arrays), "carried", "independent of epsilon and bias correction")
    if not state.moments:
        account.add("moments", 0, "carried", "SGD without momentum has none")
    if state.averages:
        account.add("averages", len(state.averages), "carried", "float32")
    if state.scale is not None:
        scale = state.scale
        how = f"{scale.scale:g}, {scale.good} clean and {scale.bad} overflowed windows"
        account.add(
            "loss scale", 4, "carried", f"{how}, {scale.stuck} skipped at the minimum scale"
        )
    account.add("windows", 1, "carried", f"{state.windows}: schedule, data, order, dropout")
    account.add("updates", 1, "carried", f"{state.updates}: schedule, bias correction")
    if state.rows is not None:
        account.add("rows", 1, "carried", f"{state.rows}: the script requires the same number")
    return state


def saved_state(
    request: Request,
    source: Path,
    of: Target,
    recipe: Recipe | None,
    account: Account,
    collect: Collector,
) -> TrainingState:
    """Return the state that a program of the user's saved, interpreted with a recipe."""
    from crosscast.state.reading import GivenPosition, Reading
    from crosscast.state.saved_file import saved_file
    from crosscast.state.saved_states import saved_states

    if recipe is None:
        hint = "lift it from the script: crosscast lift train.py -o recipe.yaml"
        raise failure("CC969", f"{source}: --recipe is needed to interpret it", hint)
    position = GivenPosition(request.windows, request.updates)
    name = of.backend.name
    known = None if recipe.model.kind == "bert" else map_beside(request.recipe, (name, name))
    states = saved_states(source, name)
    with saved_file(source, name, folders=states.folders) as tree:
        return states.read(tree, Reading(str(source), recipe, account, collect, known), position)
