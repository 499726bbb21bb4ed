"""A labelled corpus: its entries, and the files of an entry with or without companions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.messages.source import Source


@dataclass(frozen=True)
class Entry:
    """One labelled file."""

    data: Mapping[str, Any]
    root: Path

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def labels(self) -> Mapping[str, Any]:
        labels: Mapping[str, Any] = self.data["labels"]
        return labels

    @property
    def path(self) -> str:
        """Name that the file has in readings: its path within the repository."""
        return str(self.data["path"])

    def sources(self, *, companions: bool) -> list[Source]:
        """Return the texts, the labelled file first.

        A launch script is no companion of a program: it says what one user did, and the labels say
        what the program does by default.
        """
        folder = self.root / f"{self.data['repo'].replace('/', '+')}@{self.data['commit'][:8]}"
        paths = [self.path]
        if companions:
            found = [companion["path"] for companion in self.data["companions"]]
            program = self.path.endswith((".py", ".ipynb"))
            paths += [p for p in found if not (program and p.endswith((".sh", ".sub")))]
        return [Source(path, _text(folder / path)) for path in dict.fromkeys(paths)]


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig", "replace")


def load(labels: Path, root: Path) -> list[Entry]:
    """Return the entries whose file is there; a missing file ends the program."""
    data = json.loads(labels.read_text(encoding="utf-8"))
    entries = [Entry(entry, root) for entry in data["entries"]]
    for entry in entries:
        try:
            entry.sources(companions=True)
        except OSError as error:
            raise SystemExit(f"{entry.id}: {error}") from None
    return entries


def default_steps(labels: Mapping[str, Any]) -> Any:
    """Return the labelled effective default of the micro-batches of a window."""
    return labels["accumulation"].get("effective_default")
