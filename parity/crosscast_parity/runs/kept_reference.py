"""A reference that is kept: its runs in a folder of their own, to compare with at any time.

reference.json names the runs and says what each was made from, so that a later comparison can tell
whether it is about the same weights, rows and windows.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast_parity.adapters.registry import ADAPTERS
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.half_precision import Execution
from crosscast_parity.planning.runs import RunSpec
from crosscast_parity.processes.run_cache import file_hash
from crosscast_parity.runs.outcomes import FinishedRun

FILE = "reference.json"
FORMAT = 1
MAX_BYTES = 10_000_000
RunName = tuple[str, str]
"""Stage and name of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run in the folder, and the hash of what it was made from."""

    folder: Path
    origin: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReference:
    """What a folder of a kept reference holds.

    `own`: whether a user's script made the runs. `adapter`: the third-party trainer that did.
    """

    name: str
    target: str
    own: bool
    adapter: str
    recipe: Recipe
    execution: Execution
    script: str
    runs: dict[RunName, StoredRun]

    def find(self, spec: RunSpec) -> Path:
        """Return the folder of the run that a comparison wants.

        Raises:
            DiagnosticError: CC714 if it was not kept, or made from something else.
        """
        stored = self.runs.get((spec.stage, spec.name))
        if stored is None:
            raise _unfit(f"the stored reference {self.name} has no run {spec.stage}/{spec.name}")
        wanted = origin_of(spec)
        other = [key for key, value in wanted.items() if stored.origin.get(key) != value]
        if other:
            differing = ", ".join(other)
            message = f"run {spec.stage}/{spec.name} of the stored reference has other {differing}"
            raise _unfit(message)
        return stored.folder


def _unfit(message: str) -> DiagnosticError:
    hint = "compare with the options, recipe and seed that the reference was stored with"
    return DiagnosticError(Diagnostic(code="CC714", message=message, hint=hint))


def origin_of(spec: RunSpec) -> dict[str, Any]:
    """Return the inputs of a run, whatever the program is."""
    return {
        "rows": [file_hash(spec.trained), file_hash(spec.inputs.eval)],
        "weights": file_hash(spec.weights),
        "windows": spec.windows,
        "faults": [str(fault) for fault in spec.faults],
        "recorded windows": list(spec.record),
        "masks": spec.masks,
    }


def store_reference(
    folder: Path,
    contestant: Contestant,
    *,
    execution: Execution,
    script: str,
    finished_runs: Iterable[FinishedRun],
) -> Path:
    """Copy the runs of a program into a folder; return the file that names them."""
    folder.mkdir(parents=True, exist_ok=True)
    runs = []
    for made_run in finished_runs:
        place = Path("runs") / f"{made_run.spec.stage}-{made_run.spec.name}"
        shutil.rmtree(folder / place, ignore_errors=True)
        shutil.copytree(made_run.folder, folder / place)
        runs.append(
            {
                "stage": made_run.spec.stage,
                "name": made_run.spec.name,
                "folder": place.as_posix(),
                "origin": origin_of(made_run.spec),
            }
        )
    document = {
        "format": FORMAT,
        "name": contestant.name,
        "target": contestant.target,
        "own": contestant.own,
        "adapter": contestant.adapter,
        "recipe": contestant.recipe.model_dump(mode="json"),
        "execution": execution,
        "script": script,
        "runs": runs,
    }
    partial = folder / f"{FILE}.partial"
    partial.write_text(json.dumps(document, indent=1) + "\n")
    return partial.replace(folder / FILE)


def load_reference(folder: Path) -> StoredReference:
    """Read the file that names the runs; it is data from elsewhere.

    Raises:
        DiagnosticError: CC714 if it is missing, damaged, or names a folder outside of its own.
    """
    path = folder / FILE
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        document = json.loads(raw[:MAX_BYTES])
        if document["format"] != FORMAT:
            raise ValueError("format")
        runs = {}
        for run in document["runs"]:
            place = (folder / str(run["folder"])).resolve()
            if folder.resolve() not in place.parents:
                raise ValueError("folder")
            key = (str(run["stage"]), str(run["name"]))
            runs[key] = StoredRun(folder=place, origin=dict(run["origin"]))
        return StoredReference(
            name=str(document["name"])[:40],
            target=str(document["target"])[:40],
            own=document.get("own", False) is True,
            adapter=_adapter(document.get("adapter", "")),
            recipe=Recipe.model_validate_json(json.dumps(document["recipe"])),
            execution="emulated" if document["execution"] == "emulated" else "native",
            script=str(document["script"])[:40],
            runs=runs,
        )
    except OSError as error:
        raise _damaged(path, f"cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(path, "is not a stored reference") from None


def _adapter(name: Any) -> str:
    if name and name not in ADAPTERS:
        raise ValueError("adapter")
    return str(name)


def stored_contestant(folder: Path, taken: Container[str]) -> Contestant:
    """Return the program whose runs a folder holds, under a name that is not taken."""
    stored = load_reference(folder)
    name = f"stored-{stored.name}" if stored.name in taken else stored.name
    return Contestant(
        name=name,
        target=stored.target,
        recipe=stored.recipe,
        adapter=stored.adapter,
        stored=stored,
    )


def check_seeds(contestants: Iterable[Contestant]) -> None:
    """Refuse to compare with stored runs of another seed: rows and weights are drawn from it.

    Raises:
        DiagnosticError: CC714.
    """
    programs = list(contestants)
    for kept in (program for program in programs if program.stored):
        for other in programs:
            ours, theirs = other.recipe.seed, kept.recipe.seed
            if ours != theirs:
                message = f"{other.name} has seed {ours}, the stored reference {theirs}"
                raise _unfit(message)


def _damaged(path: Path, problem: str) -> DiagnosticError:
    hint = "write one with: crosscast parity ... --save-reference DIR"
    return DiagnosticError(Diagnostic(code="CC714", message=f"{path} {problem}", hint=hint))
