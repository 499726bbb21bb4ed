"""What was tried before, by the content of all that decides about it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import crosscast_parity
from crosscast_parity.processes.run_cache import content_hash, file_hash
from mutants.trials import RECIPE

ROOT = Path(crosscast_parity.__file__).resolve().parents[2]
RESULTS = Path(__file__).with_name("results")
"""Where `make mutants` and `make false-alarms` keep their journals. They take hours: what one
machine has tried is committed, and another one goes on."""
REFERENCE = "torch"
FOLDERS = ("parity", "translator/crosscast", "templates/_shared")
OF_A_FRAMEWORK = ("backends/crosscast_{}/target", "backends/crosscast_{}/inside", "templates/{}")
"""Where scripts and checks come from. What reads or migrates programs decides about neither."""


class Journal:
    """Results about some frameworks in one JSON file; those of other code are dropped."""

    def __init__(self, path: Path, frameworks: Sequence[str]) -> None:
        self._path = path
        self._code = code((REFERENCE, *frameworks))
        self._known: dict[str, dict[str, Any]] = {}
        kept = json.loads(path.read_text()) if path.exists() else {}
        if kept.get("code") == self._code:
            self._known = kept["results"]

    def find(self, about: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a result, if nothing has changed since."""
        return self._known.get(content_hash(about))

    def add(self, about: Mapping[str, Any], result: dict[str, Any]) -> None:
        """Write a result down."""
        self._known[content_hash(about)] = result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        plain = {"code": self._code, "results": dict(sorted(self._known.items()))}
        partial.write_text(json.dumps(plain, indent=1) + "\n")
        partial.replace(self._path)


def code(frameworks: Sequence[str]) -> str:
    """Return a hash of everything that decides about a result but the programs themselves."""
    files = [*deciding(frameworks), RECIPE]
    return content_hash({str(path.relative_to(ROOT)): file_hash(path) for path in files})


def deciding(frameworks: Sequence[str]) -> list[Path]:
    """Return the files that scripts for some frameworks, and the checks of them, come from."""
    own = [folder.format(name) for name in sorted({*frameworks}) for folder in OF_A_FRAMEWORK]
    return sorted(
        path
        for folder in (*FOLDERS, *own)
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".j2")
    )
