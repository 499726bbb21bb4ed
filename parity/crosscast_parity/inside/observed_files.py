"""The files of an observation (their format: `observe`); none is ever half written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from crosscast_parity.inside.watcher import Array, Seen

FORMAT = 1
PATTERNS = (
    *(f"{kind}-*.safetensors" for kind in ("window", "average", "state")),
    "manifest.json",
)


def clear(folder: Path) -> None:
    """Make the folder; remove what an earlier run left there."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in PATTERNS:
        for old in folder.glob(pattern):
            old.unlink()


def write_window(
    folder: Path,
    window: int,
    rows: list[int],
    row: Mapping[str, Any],
    seen: Seen,
    groups: Mapping[str, Mapping[str, Array]],
) -> None:
    """Write one window; `groups` are its arrays by kind and name, in the canonical layout."""
    facts = {
        "format": FORMAT,
        "window": window,
        "micro_rows": rows,
        "losses": [_finite(loss) for loss in seen.losses],
        "factors": [_finite(factor) for factor in seen.factors],
        "gradient_dtypes": seen.gradient_dtypes,
        "row": {name: _finite(value) for name, value in row.items()},
    }
    _save(_path(folder, "window", window), _flat(groups), {"observation": json.dumps(facts)})


def write_averages(folder: Path, window: int, arrays: Mapping[str, Any]) -> None:
    """Write the averages of the weights after a window."""
    _save(_path(folder, "average", window), arrays, {})


def write_state(folder: Path, window: int, groups: Mapping[str, Mapping[str, Array]]) -> None:
    """Write what a run held before a window."""
    _save(_path(folder, "state", window), _flat(groups), {})


def write_manifest(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write the manifest."""
    text = json.dumps({"format": FORMAT, **facts}, indent=1) + "\n"
    _replace(folder / "manifest.json", lambda path: path.write_text(text))


def rows_of(micro_batches: Any) -> Iterator[int]:
    """Yield the rows of each micro-batch; by index, for walking over them may inject faults."""
    if isinstance(micro_batches, Sequence):
        for index in range(len(micro_batches)):
            batch = micro_batches[index]
            if isinstance(batch, Mapping) and batch:
                yield len(batch["labels"] if "labels" in batch else next(iter(batch.values())))


def _path(folder: Path, kind: str, window: int) -> Path:
    return folder / f"{kind}-{window:04d}.safetensors"


def _flat(groups: Mapping[str, Mapping[str, Array]]) -> dict[str, Array]:
    return {f"{group}/{n}": a for group, named in groups.items() for n, a in named.items()}


def _finite(value: Any) -> Any:
    """Return a value as JSON knows it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def _save(path: Path, arrays: Mapping[str, Any], metadata: dict[str, str]) -> None:
    ready = {n: np.ascontiguousarray(array, np.float32) for n, array in arrays.items()}
    # Without tensors, safetensors writes a header that it does not read if the metadata is empty.
    _replace(path, lambda partial: save_file(ready, partial, metadata or None))


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    write(partial)
    partial.replace(path)
