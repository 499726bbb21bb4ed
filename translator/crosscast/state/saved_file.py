"""Reads a state that a framework saved, in a separate process; nothing is ever unpickled."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import failure
from crosscast.state.container import Container, open_container
from crosscast.state.saved_tree import TENSORS, TREE
from crosscast.targets.backend import load_backend

if TYPE_CHECKING:
    import numpy as np

_PROGRAM = "saved_file.py"
_TIMEOUT_SECONDS = 1800


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """A tensor and its dtype in the file; half tensors are float32 here."""

    array: np.ndarray
    dtype: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """The type name of an object that is neither a tensor nor plain data."""

    name: str


@contextmanager
def saved_file(path: Path, family: str, *, folders: bool = False) -> Iterator[Any]:
    """Yield the contents of a file: dictionaries, lists, plain values, `SavedTensor`, `Foreign`.

    Args:
        path: The file.
        family: The backend whose framework wrote it.
        folders: Whether it may be a folder.

    Raises:
        DiagnosticError: CC001-CC003 for a file that cannot be read, CC401 without the framework,
            CC963 for one with more than state dictionaries.

    The backend has a program `saved_file.py`, see `saved_tree`.
    """
    if not path.exists():
        raise failure("CC001", f"{path}: no such file")
    if not path.is_file() and not (folders and path.is_dir()):
        raise failure("CC002", f"{path}: not a regular file")
    backend = load_backend(family)
    module = sys.modules[type(backend).__module__]
    assert module.__file__ is not None  # backends are packages on disk
    program = Path(module.__file__).with_name(_PROGRAM)
    with tempfile.TemporaryDirectory(prefix="crosscast-") as folder:
        _extract(path, family, program, folder)
        tree = json.loads((Path(folder) / TREE).read_text(encoding="utf-8"))
        yield _decode_node(tree, open_container(Path(folder) / TENSORS))


def _extract(path: Path, family: str, program: Path, folder: str) -> None:
    try:
        process = subprocess.run(
            [sys.executable, "-P", str(program), str(path.resolve()), folder],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise failure("CC963", f"{path}: reading it takes too long") from None
    missing = f"No module named '{family}'"
    if process.returncode and (missing in process.stderr or "No module named" in process.stderr):
        hint = f'pip install "crosscast[{family}]"'
        raise failure("CC401", f"{path}: reading it needs the package {family}", hint)
    try:
        report = json.loads(process.stdout.strip().splitlines()[-1])
        error, hint = str(report["error"]), str(report["hint"])
    except (ValueError, KeyError, IndexError, TypeError):
        last = (process.stderr.strip().splitlines() or ["no output"])[-1]
        raise failure("CC963", f"{path}: its reader crashed: {last[:200]}") from None
    if error:
        raise failure("CC963", f"{path}: {error}", hint)


def _decode_node(node: Any, tensors: Container) -> Any:
    kind = node["kind"]
    if kind == "dict":
        return {key: _decode_node(value, tensors) for key, value in node["items"]}
    if kind == "list":
        return [_decode_node(part, tensors) for part in node["items"]]
    if kind == "tensor":
        return SavedTensor(tensors.array(node["value"]), node["dtype"])
    if kind == "other":
        return Foreign(node["value"])
    return float(node["value"]) if kind == "float" else node["value"]
