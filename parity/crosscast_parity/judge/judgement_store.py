"""Cache of judgements about finished runs, so that a repeated comparison does not recompute them.

A judgement is stored under a hash of all its inputs: the files of the runs that it reads,
its arguments, the code of both packages, and the version of NumPy. Stored judgements are
untrusted; a damaged judgement is dropped and computed again.
"""

from __future__ import annotations

import contextlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import crosscast
from crosscast.recipe.document import Recipe
from crosscast_parity.judge.judgement_data import Kind
from crosscast_parity.processes.run_cache import Store, content_hash, file_hash, folder_hash

FOLDER = "judgements"
FILE = "judgement.json"
MAX_BYTES = 8 * 2**20
T = TypeVar("T")


@lru_cache(maxsize=1)
def code_hash() -> str:
    """Return a hash of the code that judges, and of what it computes with."""
    folders = (Path(crosscast.__file__).parent, Path(__file__).parents[1])
    return content_hash(
        {
            "code": [folder_hash(folder) for folder in folders],
            "numpy": np.__version__,
            "python": platform.python_version(),
        }
    )


class Judgements:
    """Remembers judgements of the runs in one folder.

    Runs that lie elsewhere, such as those of a stored reference, are judged every time. Without a
    folder all are.
    """

    def __init__(self, runs: Path | None = None) -> None:
        self._runs = runs
        self._store = Store(runs / FOLDER) if runs else None
        # Now, not when the runs have ended: the code that is loaded is that of the beginning.
        self._code = code_hash() if runs else ""

    def recall(
        self,
        kind: Kind[T],
        name: str,
        folders: Sequence[Path],
        arguments: Mapping[str, Any],
        judge: Callable[[], T],
    ) -> T:
        """Return the judgement of the same runs and arguments from the store, or judge now.

        Args:
            kind: how the result is written as plain data.
            name: which function judges.
            folders: the runs that it reads.
            arguments: all else that it depends on; plain data and recipes.
            judge: computes the result. What it raises is not remembered.
        """
        key = self._key(name, folders, arguments)
        if key is None or self._store is None:
            return judge()
        try:
            return kind.read(_read_judgement(self._store, key))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._store.drop(key)
        judgement = judge()
        # A full disk is no reason to fail: the next comparison judges again.
        with contextlib.suppress(OSError):
            _keep(self._store, key, kind.write(judgement))
        return judgement

    def sweep(self) -> None:
        """Remove what comparisons left that were ended while they wrote."""
        if self._store:
            self._store.sweep()

    def _key(self, name: str, folders: Sequence[Path], arguments: Mapping[str, Any]) -> str | None:
        try:
            runs = [_identity(folder) for folder in folders if folder.parent == self._runs]
        except OSError:
            return None
        if len(runs) < len(folders):
            return None
        plain = json.loads(json.dumps(arguments, default=_recipe_data))
        return content_hash({"name": name, "runs": runs, "given": plain, "code": self._code})


def _recipe_data(value: object) -> Any:
    if not isinstance(value, Recipe):
        raise TypeError(f"{type(value).__name__} cannot be part of a key")
    return value.model_dump(mode="json")


def _identity(folder: Path) -> list[Any]:
    """Return a key that identifies a finished run and changes with its files.

    Its key says what it was made from. `done.json` holds how long it took, and so tells it from
    the same run made again, whose numbers may be others.
    """
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            stat = path.stat()
            files[path.relative_to(folder).as_posix()] = [stat.st_size, stat.st_mtime_ns]
    return [folder.name, file_hash(folder / "done.json"), files]


def _read_judgement(store: Store, key: str) -> Any:
    """Return the plain data of a judgement.

    Raises:
        OSError: there is none.
        ValueError, KeyError, TypeError, RecursionError: it is damaged, or another one.
    """
    folder = store.find(key)
    if folder is None:
        raise FileNotFoundError(key)
    with (folder / FILE).open("rb") as stream:
        document = json.loads(stream.read(MAX_BYTES))
    if document["key"] != key or document["hash"] != content_hash({"found": document["found"]}):
        raise ValueError("damaged")
    return document["found"]


def _keep(store: Store, key: str, judgement: Any) -> None:
    partial = store.begin(key)
    document = {"key": key, "hash": content_hash({"found": judgement}), "found": judgement}
    text = json.dumps(document, allow_nan=False)
    (partial / FILE).write_text(text)
    files = {FILE: (partial / FILE).stat().st_size}
    (partial / "done.json").write_text(json.dumps({"files": files, "modules": {}}))
    store.keep(key, partial)
