"""Where the results of runs are kept: by the content of all that decides about them.

A run that was made before is not made again, whoever asks for it, and an interrupted comparison
goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import uuid
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from crosscast.targets.backend import installed_backends

KEY_LENGTH = 20
LARGEST_FOLDER, MOST_FILES = 50 * 2**20, 5000
"""Bytes and files of a user's folder that are still worth reading to know it again."""
ENVIRONMENT = (
    "NVIDIA_",
    "CUDA_",
    "CUBLAS_",
    "OMP_",
    "MKL_",
    "KMP_",
    "OPENBLAS_",
    "ONEDNN_",
    "DNNL_",
    "LD_",
)
"""How variables begin that can decide about the numbers of a run, whatever the framework."""
PACKAGES = ("numpy", "safetensors", "accelerate", "transformers", "lightning")
"""Packages whose versions are shown besides those of the frameworks."""


_ASK = """
import importlib.metadata, json, os, platform, sys
every = [[str(d.metadata["Name"]), str(d.version)] for d in importlib.metadata.distributions()]
versions = dict(every)
found = {name: versions[name] for name in sys.argv[1:] if name in versions}
found |= {"python": platform.python_version(), "machine": platform.machine()}
place = [os.path.realpath(sys.executable), sys.prefix, sys.version]
print(json.dumps({"versions": found, "identity": [place, sorted(every)]}))
"""


def _packages() -> Iterator[str]:
    yield from PACKAGES
    for backend in installed_backends():
        if backend.harness is not None:
            yield from (*backend.distributions, *backend.harness.packages)


@lru_cache(maxsize=64)
def _ask(python: str) -> tuple[tuple[tuple[str, str], ...], str]:
    try:
        answer = subprocess.run(
            [python, "-c", _ASK, *_packages()],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        document = json.loads(answer.stdout)
        shown = sorted((str(k), str(v)) for k, v in document["versions"].items())
        return tuple(shown), content_hash({"identity": document["identity"]})
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
        return (), ""


def versions(python: str) -> tuple[tuple[str, str], ...]:
    """Return the installed packages of an interpreter; empty if it cannot be run."""
    return _ask(python)[0]


def interpreter(python: str) -> str:
    """Return a hash of where an interpreter is and of all that is installed for it.

    One that cannot be asked is another one every time.
    """
    return _ask(python)[1] or unique()


def unique() -> str:
    """Return a unique part of a key, so that the result is not reused."""
    return uuid.uuid4().hex


def numeric_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that can decide about the numbers of a run."""
    own = (
        backend.harness.numeric_variables
        for backend in installed_backends()
        if backend.harness is not None
    )
    prefixes = (*ENVIRONMENT, *(prefix for group in own for prefix in group))
    return {k: v for k, v in environment.items() if k.startswith(prefixes)}


@lru_cache(maxsize=8192)
def _file_hash(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    stat = path.stat()
    return _file_hash(path, stat.st_size, stat.st_mtime_ns)


def folder_hash(folder: Path) -> str:
    """Return one hash of the names and the content of all files of a folder."""
    return _hash_of(folder, list(_files(folder)))


def user_folder_hash(folder: Path, without: Collection[Path] = ()) -> str:
    """Return the hash of a folder that can hold anything.

    One that is too large to be read for this is another one every time. `without`: folders and
    files within it that are not looked at, such as that of the results.
    """
    files, size = [], 0
    for path in _files(folder, {path.resolve() for path in without}):
        files.append(path)
        size += path.stat().st_size
        if size > LARGEST_FOLDER or len(files) > MOST_FILES:
            return unique()
    return _hash_of(folder, files)


def _hash_of(folder: Path, files: list[Path]) -> str:
    return content_hash({path.relative_to(folder).as_posix(): file_hash(path) for path in files})


def _files(folder: Path, without: Collection[Path] = ()) -> Iterator[Path]:
    """Yield regular files, but for hidden ones, caches of Python, and virtual environments."""
    for root, folders, names in os.walk(folder, followlinks=True):
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".")
            and name != "__pycache__"
            and Path(root, name).resolve() not in without
        ]
        for name in names:
            path = Path(root, name)
            if not name.startswith(".") and path.is_file() and path.resolve() not in without:
                yield path


def content_hash(content: Mapping[str, Any]) -> str:
    """Return a short hash of plain data."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())


class Store:
    """A folder of finished runs, one folder each, named by its key.

    Several comparisons may share one: a run is written elsewhere and moved in whole.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def find(self, key: str) -> Path | None:
        """Return the folder of a finished run.

        None if a file in it is not whole, or a module that it imported has changed since.
        """
        folder = self.root / key
        try:
            ended = json.loads((folder / "done.json").read_text())
            whole = all((folder / n).stat().st_size == size for n, size in ended["files"].items())
            same = whole and all(file_hash(Path(p)) == h for p, h in ended["modules"].items())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return folder if same else None

    def drop(self, key: str) -> None:
        """Remove a run that turned out to be damaged."""
        shutil.rmtree(self.root / key, ignore_errors=True)

    def begin(self, key: str) -> Path:
        """Return an empty folder to make a run in."""
        folder = self.root / f"partial-{_host()}-{os.getpid()}-{key}"
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
                self.drop(key)
                partial.rename(folder)
            else:
                shutil.rmtree(partial, ignore_errors=True)
        return folder

    def sweep(self) -> None:
        """Remove what processes of this machine left that are no longer there."""
        for partial in self.root.glob(f"partial-{_host()}-*-*"):
            owner = partial.name.split("-")[2]
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
