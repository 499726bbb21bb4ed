"""What the tests do, and what came of removed conditions: kept between runs.

A recording holds for the sources that it was made with; a result holds for the module and for the
tests that were run, whose files are part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from conditions import Condition
from runner import FileRecord

Outcome = Literal["noticed", "passed", "same", "unreached"]
"""`same`: tests reach it, but its removal changes nothing in them."""


@cache
def hash_of(*files: Path) -> str:
    """Return a hash of the contents of files."""
    content = b"\0".join(file.read_bytes() for file in files)
    return hashlib.sha256(content).hexdigest()[:16]


class Recording:
    """What every test file reaches."""

    def __init__(self, path: Path, root: Path, sources: Sequence[Path]) -> None:
        self._path = path
        self._root = root
        self._code = hash_of(*sources)
        self._plain: dict[str, dict[str, object]] = {}
        if path.exists():
            self._plain = json.loads(path.read_text(encoding="utf-8"))

    def stale(self, files: Iterable[str], *, other_sources: bool) -> list[str]:
        """Return the test files to record; `other_sources` accepts what older sources did."""
        return [
            name
            for name in files
            if self._plain.get(name, {}).get("tests_hash") != self._hash(name)
            or not (other_sources or self._plain[name]["code"] == self._code)
        ]

    def _hash(self, name: str) -> str:
        return hash_of(self._root / name)

    def add(self, name: str, record: FileRecord, conditions: Sequence[Condition]) -> None:
        """Write down what a file does."""
        used = sorted({n for test in record.tests.values() for n in test.differed})
        place = {number: index for index, number in enumerate(used)}
        self._plain[name] = {
            "code": self._code,
            "tests_hash": self._hash(name),
            "reached": [conditions[number].key for number in record.reached],
            "differed": [conditions[number].key for number in used],
            "tests": {
                test: [values.seconds, [place[number] for number in values.differed]]
                for test, values in record.tests.items()
            },
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        partial.write_text(json.dumps(self._plain) + "\n", encoding="utf-8")
        partial.replace(self._path)

    def reached(self) -> set[str]:
        """Return the keys of conditions that any test reaches."""
        return {key for plain in self._plain.values() for key in plain["reached"]}

    def tests(self, most: int = 0) -> dict[str, dict[str, float]]:
        """Return, by key of a condition, the tests that its removal changes, with seconds.

        Fastest first, and not more than `most` for a condition; all of them if it is 0.
        """
        found: dict[str, list[tuple[float, str]]] = {}
        for plain in self._plain.values():
            for test, (seconds, places) in plain["tests"].items():
                for place in places:
                    found.setdefault(plain["differed"][place], []).append((seconds, test))
        return {
            key: {test: seconds for seconds, test in sorted(tests)[: most or None]}
            for key, tests in found.items()
        }


@dataclass(frozen=True, slots=True)
class Result:
    """What came of the removal of a condition."""

    key: str
    outcome: Outcome
    by: str = ""
    """The test that noticed it, or how its process ended."""
    tests: int = 0
    """How many tests were to be run."""
    basis: str = ""
    """Hash of what decides about the result."""


class Journal:
    """Results, one JSON line each; a line that was cut off is left out."""

    def __init__(self, path: Path, package: Path, root: Path) -> None:
        self._path = path
        self._package = package
        self._root = root
        self._known: dict[str, Result] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                result = Result(**json.loads(line))
            except ValueError:
                continue
            self._known[result.key] = result

    def find(self, condition: Condition, tests: Iterable[str]) -> Result | None:
        """Return a result if neither the module nor the tests in question have changed."""
        known = self._known.get(condition.key)
        if known is None:
            return None
        decisive = [known.by] if known.outcome == "noticed" and "::" in known.by else tests
        return known if known.basis == self.basis(condition, decisive) else None

    def basis(self, condition: Condition, tests: Iterable[str]) -> str:
        """Return a hash of a module and of tests with their files."""
        names = sorted(tests)
        files = sorted({self._root / name.partition("::")[0] for name in names})
        if not all(file.exists() for file in files):
            return "gone"
        parts = [hash_of(self._package / condition.module, *files), *names]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def add(self, result: Result) -> None:
        """Write a result down."""
        self._known[result.key] = result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
