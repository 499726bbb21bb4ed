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

RESULTS = Path(__file__).with_name("results")
"""Where `make mutants` and `make false-alarms` keep their journals. They take hours: what one
machine has tried is committed, and another one goes on."""
FOLDERS = ("translator", "backends", "templates", "parity")


class Journal:
    """Results in one JSON file; those of another version of the code are dropped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, dict[str, Any]] = {}
        kept = json.loads(path.read_text()) if path.exists() else {}
        if kept.get("code") == code():
            self._known = kept["results"]

    def find(self, about: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a result, if nothing has changed since."""
        return self._known.get(content_hash(about))

    def add(self, about: Mapping[str, Any], result: dict[str, Any]) -> None:
        """Write a result down."""
        self._known[content_hash(about)] = result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        plain = {"code": code(), "results": dict(sorted(self._known.items()))}
        partial.write_text(json.dumps(plain, indent=1) + "\n")
        partial.replace(self._path)


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
