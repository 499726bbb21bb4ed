"""The public programs: what they are, and a working copy of each."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
STAND_INS = HERE / "stand_ins"
FRAMEWORKS = {
    "apex": "torch",
    "cuda_amp": "torch",
    "keras2": "tensorflow",
    "tensorflow1": "tensorflow",
    "tensorflow1_keras": "tensorflow",
    "paddle1": "paddle",
    "paddle2": "paddle",
}
"""The eras, and the framework of each."""


@dataclass(frozen=True, slots=True)
class Program:
    """An entry of a table, and the folder of its files."""

    era: str
    to: str
    entry: dict[str, Any]
    folder: Path

    @property
    def name(self) -> str:
        """Return its identifier."""
        return str(self.entry["id"])

    @property
    def paths(self) -> list[str]:
        """Return the paths of its files."""
        return list(self.entry["files"])

    def missing(self) -> Iterator[str]:
        """Yield the files that are absent or not those of the table."""
        for name, digest in self.entry["files"].items():
            path = self.folder / name
            found = path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest()
            if found != digest:
                yield str(path)

    def copy(self, target: Path) -> None:
        """Copy its files into a folder."""
        for path in self.paths:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.folder / path, target / path)

    @property
    def can_run(self) -> bool:
        """Whether it has what it needs to be run here."""
        return bool(self.entry.get("ran", self.entry["after"] == "right"))

    def start(self, target: Path) -> Path:
        """Return the folder it is started in, with made-up data and modules laid over its files."""
        folder = target / self.entry.get("folder", "")
        for name in self.entry.get("stand_ins", []):
            shutil.copytree(STAND_INS / name, folder, dirs_exist_ok=True)
        return folder


def programs_of(files: Path, eras: list[str], half: str, only: str) -> list[Program]:
    """Return the entries of the tables.

    Args:
        files: holds ERA/ID/PATH.
        eras: names of the tables; none for all.
        half: "development", "aside", "unseen", "unseen2" or "unseen3"; "" for all.
        only: a part of the identifiers.
    """
    found = []
    for path in sorted(HERE.glob("*.json")):
        table = json.loads(path.read_text())
        if eras and table["era"] not in eras:
            continue
        for entry in table["programs"]:
            if half in ("", entry["half"]) and only in entry["id"]:
                folder = files / table["era"] / entry["id"]
                found.append(Program(table["era"], table["to"], entry, folder))
    return found


def get(program: Program, repositories: Path) -> None:
    """Write the files of a program from a git directory REPOSITORIES/OWNER+NAME."""
    top = repositories / program.entry["repo"].replace("/", "+")
    git_dir = next(p.parent for p in sorted(top.rglob("HEAD")) if (p.parent / "objects").is_dir())
    for path in program.paths:
        target = program.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        source = f"{program.entry['commit']}:{path}"
        command = ["git", "--git-dir", str(git_dir), "show", source]
        target.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
