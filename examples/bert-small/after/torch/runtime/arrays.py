"""Turn rows into arrays that all frameworks read alike; look at every value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .settings import Settings, Stop

Batch = dict[str, Any]  # arrays by name


def checked(
    source: Path | str, rows: Batch, settings: Settings, n_rows: int | None = None
) -> Batch:
    """Return the arrays of a data set, or of some of its rows, in common types.

    `source`: for messages. `n_rows`: how many there must be; None if any but 0 will do.
    """
    target = settings.target
    sizes = {len(array) if array.ndim else 0 for array in rows.values()}
    wrong = len(sizes) != 1 or 0 in sizes or n_rows not in (None, *sizes)
    if (target and target not in rows) or wrong:
        named = f"`{target}` and " if target else ""
        needs = f"{named}arrays of equal length, of one row at least"
        raise Stop("failed", 2, f"{source}: needs {needs}")
    if settings.limits is not None:
        return token_rows(source, rows, settings)
    labels = target if settings.classes else None
    if labels and rows[labels].ndim != 1 and not settings.unlabelled:
        raise Stop("failed", 2, f"{source}: needs `{labels}` of one number a row")
    return {n: common_type(source, n, a, n == labels) for n, a in rows.items()}


def token_rows(source: Path | str, rows: Batch, settings: Settings) -> Batch:
    """Return the arrays that a model of tokens takes, having looked at every value."""
    limits, longest = settings.limits or {}, settings.max_positions
    tokens = rows.get("input_ids", rows["labels"]).shape
    if len(tokens) != 2 or not 0 < tokens[1] <= longest:
        shape = f"[rows, tokens], of 1 to {longest} tokens"
        raise Stop("failed", 2, f"{source}: needs `input_ids` {shape}")
    for name, limit in limits.items():
        array = rows.get(name, np.zeros(()))
        right = array.shape == (tokens[:1] if name == "labels" else tokens)
        if not right or array.dtype.kind not in "biu":
            kind = "an integer for every " + ("row" if name == "labels" else "token")
            raise Stop("failed", 2, f"{source}: needs `{name}`, {kind}")
        known = array
        if settings.unlabelled and name == "labels":
            known = array[array != -100]  # these rows have no label
        if known.size and (known.min() < 0 or known.max() >= limit):
            raise Stop("failed", 2, f"{source}: `{name}` must be from 0 to {limit - 1}")
    # Frameworks read other integers differently: uint16 is bfloat16 to Paddle.
    return {name: rows[name].astype(np.int64, copy=False) for name in limits}


def common_type(
    source: Path | str, name: str, array: np.ndarray, classes: bool
) -> np.ndarray:
    """Return an array as int64, float32 or bool, which all frameworks read alike."""
    types = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float32}
    dtype = types.get(array.dtype.kind)
    if dtype is None:
        raise Stop("failed", 2, f"{source}: `{name}` holds {array.dtype}, no numbers")
    if classes:
        dtype = np.int64
    if array.dtype == dtype:
        return array
    with np.errstate(invalid="ignore", over="ignore"):
        cast = array.astype(dtype)
    lost = cast != array if dtype is np.int64 else np.isinf(cast) & np.isfinite(array)
    if lost.any():
        value = f"{array[lost][0]!s}, which cannot be {cast.dtype}"
        raise Stop("failed", 2, f"{source}: `{name}` holds {value}")
    return cast


def padded(
    source: Path | str, name: str, rows: list[Any], settings: Settings
) -> np.ndarray:
    """Stack rows, filled up to the longest of them along their first axis."""
    arrays = [np.atleast_1d(row) for row in rows]
    if len({array.shape[1:] for array in arrays}) > 1:
        shapes = " and ".join(sorted({str(array.shape) for array in arrays})[:2])
        raise Stop("failed", 2, f"{source}: rows of `{name}` have the shapes {shapes}")
    labels = settings.unlabelled and name == settings.target
    value = settings.pad_values.get(name, -100 if labels else 0)
    dtype = np.result_type(*arrays)
    if dtype.kind in "biuf" and np.array(value).astype(dtype) != value:
        dtype = np.result_type(dtype, np.int64 if int(value) == value else np.float32)
    longest, multiple = max(map(len, arrays)), settings.pad_to_multiple_of
    length = -(-longest // multiple) * multiple
    whole = np.full((len(arrays), length, *arrays[0].shape[1:]), value, dtype)
    for row, array in zip(whole, arrays, strict=True):
        row[: len(array)] = array
    return whole
