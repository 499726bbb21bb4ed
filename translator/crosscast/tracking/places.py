"""Where the traces of runs are, and what the runs are called."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast.messages.diagnostics import failure

TRACE, RUNS = "trace.jsonl", "runs.json"
CELLS = "cells/*/output/" + TRACE
MOST_BYTES = 2**24
"""Of a list of runs."""


@dataclass(frozen=True, slots=True)
class Place:
    """The trace of a run.

    `parts`: of the name that is long enough to be of no other run; `least`: how many of them, from
    the end, say enough where no other run has the same.
    """

    trace: Path
    parts: tuple[str, ...]
    least: int = 1


def find_runs(paths: Sequence[str]) -> dict[str, Place]:
    """Return the runs by name.

    Args:
        paths: traces, folders with a trace, and folders of comparisons and of sweeps.

    Raises:
        DiagnosticError: CC001 if a path does not exist, CC003 if it cannot be read, CC716 if no run
            is there.
    """
    by_trace: dict[Path, Place] = {}
    for path in paths:
        try:
            places = list(_places(path))
        except (OSError, ValueError) as error:
            raise failure("CC003", f"{path}: {getattr(error, 'strerror', None) or error}") from None
        by_trace |= {place.trace.absolute(): place for place in places}
    return _name_runs(list(by_trace.values()))


def _places(path: str) -> Iterator[Place]:
    named = Path(path)
    if not named.exists():
        raise failure("CC001", f"{path}: no such file")
    whole = named.absolute()
    if not whole.is_dir():
        own = () if whole.name == TRACE else (whole.stem,)
        yield Place(named, (*_name_parts(whole.parent), *own))
    elif (whole / TRACE).exists():
        yield Place(named / TRACE, _name_parts(whole))
    elif (whole / RUNS).is_file():
        yield from _compared(named, whole)
    elif cells := sorted(named.glob(CELLS)):
        for trace in cells:
            yield Place(trace, (*_name_parts(whole), trace.parent.parent.name))
    else:
        hint = f"a run has {TRACE}, a comparison {RUNS}, a sweep the folder cells"
        raise failure("CC716", f"{path}: no run is here", hint)


def _name_parts(folder: Path) -> tuple[str, ...]:
    return folder.parts[1:] or ("run",)


def _compared(named: Path, whole: Path) -> Iterator[Place]:
    """Yield the runs of a comparison.

    Raises:
        DiagnosticError: CC716 if the list of them is damaged.
    """
    try:
        if (whole / RUNS).stat().st_size > MOST_BYTES:
            raise ValueError
        entries = json.loads((whole / RUNS).read_bytes())["runs"]
        listed = [([*map(_part, entry["name"])], str(entry["folder"])) for entry in entries]
        if not all(name for name, _ in listed):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise failure("CC716", f"{named / RUNS}: not a list of runs") from None
    for name, folder in listed:
        if (whole / folder / TRACE).exists():
            yield Place(named / folder / TRACE, (*_name_parts(whole), *name), len(name))


def _part(part: object) -> str:
    """Return a part of a name that can be that of a folder.

    Raises:
        ValueError: it cannot.
    """
    if not isinstance(part, str) or part in ("", ".", "..") or not part.isprintable():
        raise ValueError
    if "/" in part or "\\" in part:
        raise ValueError
    return part


def _name_runs(places: Sequence[Place]) -> dict[str, Place]:
    """Name every run by as few parts as no other run shares."""
    named: dict[str, Place] = {}
    for place in places:
        others = [other.parts for other in places if other is not place]
        count = place.least
        while count < len(place.parts) and any(
            other[-count:] == place.parts[-count:] for other in others
        ):
            count += 1
        named["/".join(place.parts[-count:])] = place
    return named
