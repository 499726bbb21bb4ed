"""Where the results of runs are kept: by the content of all that decides about them.

A run that was made before is not made again, whoever asks for it, and an interrupted comparison
goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

KEY_LENGTH = 20
PACKAGES = (
    "torch",
    "tensorflow",
    "tensorflow-cpu",
    "keras",
    "tf_keras",
    "paddlepaddle",
    "paddlepaddle-gpu",
    "numpy",
    "safetensors",
    "accelerate",
    "transformers",
    "lightning",
)
"""Installed versions that decide about the numbers of a run."""

_ASK = """
import importlib.metadata, json, platform, sys
found = {"python": platform.python_version(), "machine": platform.machine()}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@lru_cache(maxsize=64)
def versions(python: str) -> tuple[tuple[str, str], ...]:
    """Return what is installed for an interpreter; nothing if it cannot be asked."""
    try:
        answer = subprocess.run(
            [python, "-c", _ASK, *PACKAGES],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        found = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ()
    return tuple(sorted((str(k), str(v)) for k, v in found.items()))


@lru_cache(maxsize=1024)
def _file_hash(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    found = path.stat()
    return _file_hash(path, found.st_size, found.st_mtime_ns)


def folder_hash(folder: Path, pattern: str = "*.py") -> str:
    """Return one hash of the names and the content of a folder's files."""
    files = sorted(path for path in folder.glob(pattern) if path.is_file())
    return content_hash({path.name: file_hash(path) for path in files})


def content_hash(content: Mapping[str, Any]) -> str:
    """Return a short hash of plain data."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


class Store:
    """A folder of finished runs, one folder each, named by its key.

    Several comparisons may share one: a run is written elsewhere and moved in whole.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def find(self, key: str) -> Path | None:
        """Return the folder of a finished run."""
        folder = self.root / key
        return folder if (folder / "done.json").is_file() else None

    def begin(self, key: str) -> Path:
        """Return an empty folder to make a run in."""
        folder = self.root / f"partial-{os.getpid()}-{key}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def keep(self, key: str, partial: Path) -> Path:
        """Move a finished run to its place; if somebody else was faster, theirs stays."""
        folder = self.root / key
        try:
            partial.rename(folder)
        except OSError:
            if self.find(key) is None:
                shutil.rmtree(folder, ignore_errors=True)
                partial.rename(folder)
            else:
                shutil.rmtree(partial, ignore_errors=True)
        return folder

    def sweep(self) -> None:
        """Remove what processes left that are no longer there."""
        for partial in self.root.glob("partial-*-*"):
            owner = partial.name.split("-")[1]
            if not owner.isdigit() or not _runs(int(owner)):
                shutil.rmtree(partial, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
