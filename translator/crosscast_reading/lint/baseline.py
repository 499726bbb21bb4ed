"""The baseline: known findings that are not reported again."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.source import read_source
from crosscast_reading.lint.result import Result, order

VERSION = 1
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class NewResults:
    """Results after applying a baseline."""

    results: list[Result]
    known: int
    """Number of known findings that still exist."""
    gone: int
    """Number of known findings in checked files that no longer exist."""


def fingerprints(results: Iterable[Result], folder: Path) -> list[str]:
    """Return a fingerprint of every result that does not depend on line numbers.

    It consists of the file (relative to the folder of the baseline), the code, the text of the line
    without whitespace, and a number that distinguishes equal ones in a file.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    names = []
    for result in results:
        text = " ".join(result.span.text.split()) if result.span else ""
        key = (_relative(result.file, folder), result.code, text)
        seen[key] += 1
        parts = "\0".join((*key, str(seen[key])))
        names.append(hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:32])
    return names


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline in memory."""

    entries: Mapping[str, str]
    """Fingerprint to file, relative to the folder."""
    folder: Path

    def apply(self, results: Sequence[Result], files: Iterable[str]) -> NewResults:
        """Return the new results for some files."""
        ordered = sorted(results, key=order)
        names = fingerprints(ordered, self.folder)
        left = [
            result
            for result, name in zip(ordered, names, strict=True)
            if not (result.is_finding and name in self.entries)
        ]
        looked_at = {_relative(file, self.folder) for file in files}
        gone = {name for name, file in self.entries.items() if file in looked_at} - set(names)
        return NewResults(left, len(ordered) - len(left), len(gone))


def load(path: str) -> Baseline:
    """Read a baseline file.

    Raises:
        DiagnosticError: CC001-CC005, CC954.
    """
    source = read_source(path, max_bytes=MAX_BYTES)
    try:
        data: Any = json.loads(source.text)
        if data["version"] != VERSION:
            raise ValueError(f"version {data['version']!r}")
        entries = {str(entry["fingerprint"]): str(entry["file"]) for entry in data["findings"]}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DiagnosticError(
            Diagnostic(
                code="CC954",
                message=f"{path}: not a baseline: {error}",
                hint="create it again with --write-baseline",
            )
        ) from None
    return Baseline(entries, Path(path).parent)


def text_of(results: Sequence[Result], path: str) -> str:
    """Return the text of a baseline file with all findings."""
    findings = sorted((result for result in results if result.is_finding), key=order)
    folder = Path(path).parent
    entries = [
        {
            "file": _relative(result.file, folder),
            "code": result.code,
            "fingerprint": name,
            "message": result.message,
        }
        for result, name in zip(findings, fingerprints(findings, folder), strict=True)
    ]
    return json.dumps({"version": VERSION, "findings": entries}, indent=1) + "\n"


def _relative(file: str, folder: Path) -> str:
    if not file or file.startswith("<"):
        return file
    return PurePath(os.path.relpath(file, folder or ".")).as_posix()
