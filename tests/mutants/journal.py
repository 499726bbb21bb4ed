"""What was tried before, by the content of all that decides about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import crosscast_parity
from crosscast_parity.processes.run_cache import content_hash, file_hash
from mutants.trials import RECIPE

FOLDERS = ("translator", "backends", "templates", "parity")


class Journal:
    """Results in one JSON file; those of other versions of the code are not found."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._known = json.loads(path.read_text())

    def find(self, about: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a result, if nothing has changed since."""
        return self._known.get(_key(about))

    def add(self, about: Mapping[str, Any], result: dict[str, Any]) -> None:
        """Write a result down."""
        self._known[_key(about)] = result
        partial = self._path.with_suffix(".partial")
        partial.write_text(json.dumps(self._known, indent=1))
        partial.replace(self._path)


def _key(about: Mapping[str, Any]) -> str:
    return content_hash({**about, "code": code()})


@cache
def code() -> str:
    """Return a hash of everything that decides about a result but the programs themselves."""
    root = Path(crosscast_parity.__file__).resolve().parents[2]
    files = sorted(
        path
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in (".py", ".j2")
    )
    return content_hash({str(path.relative_to(root)): file_hash(path) for path in [*files, RECIPE]})
