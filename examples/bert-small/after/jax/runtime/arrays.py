"""Turn rows into arrays that all frameworks read alike; look at every value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .settings import Settings, Stop

Batch = dict[str, Any]  # arrays by name


def checked(source: Path | str, rows: Batch, settings: Settings) -> Batch:
    """Return the arrays of a data set, or of some of its rows, in common types.

    `source`: for messages.
    """
    target = settings.target
    sizes = {len(array) if array.ndim and array.size else 0 for array in rows.values()}
    if (target and target not in rows) or len(sizes) != 1 or 0 in sizes:
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
        shape = f"[rows, tokens], of 1 to {longest} tokens, not {list(tokens)}"
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


def gathered(
    source: str, name: str, rows: Any, settings: Settings, n_rows: int, copy: bool
) -> np.ndarray:
    """Return what a data set gives for an array, as a plain array.

    `n_rows`: how many rows it must have. Rows that vary in length come as a list.
    `copy`: it may be a view of a file, or be filled again for the next rows.
    """
    each = rows if isinstance(rows, list) else [rows]
    if any(isinstance(row, np.ma.MaskedArray) for row in each):
        raise Stop("failed", 2, f"{source}: `{name}` is a masked array")
    try:
        plain = np.array if copy else np.asarray
        arrays = [plain(row, order="C") for row in each]
    except Exception as error:  # of any class
        raise Stop("failed", 2, f"{source}: `{name}` is no array: {error}") from error
    found = len(arrays) if each is rows else len(arrays[0]) if arrays[0].ndim else 0
    if found != n_rows:
        raise Stop("failed", 2, f"{source}: `{name}` has {found} rows, not {n_rows}")
    classes = settings.classes and name == settings.target
    arrays = [common_type(source, name, array, classes) for array in arrays]
    whole = arrays[0] if each is not rows else padded(source, name, arrays, settings)
    if not whole.size:
        raise Stop("failed", 2, f"{source}: rows of `{name}` hold nothing")
    return whole


def padded(
    source: Path | str, name: str, arrays: list[np.ndarray], settings: Settings
) -> np.ndarray:
    """Stack rows, filled up to the longest of them along their first axis."""
    kinds = {(str(a.dtype), a.ndim, a.shape[1:]): list(a.shape) for a in arrays}
    if len(kinds) > 1:
        both = " and ".join(f"{kind[0]} {shape}" for kind, shape in kinds.items())
        raise Stop("failed", 2, f"{source}: rows of `{name}` are {both}")
    first, lengths = arrays[0], {len(a) if a.ndim else 0 for a in arrays}
    if not first.ndim:
        return np.stack(arrays)
    if name == settings.target and not settings.unlabelled:
        if len(lengths) > 1:
            why = "vary in length, and padding would count in the loss"
            raise Stop("failed", 2, f"{source}: rows of `{name}` {why}")
        return np.stack(arrays)
    value = settings.pad_values.get(name, -100 if name == settings.target else 0)
    with np.errstate(invalid="ignore"):
        held = np.array(value).astype(first.dtype)
    if first.dtype.kind != "f" and held != value:
        message = f"holds {first.dtype}, which its pad_values, {value:g}, is not"
        raise Stop("failed", 2, f"{source}: `{name}` {message}")
    multiple = settings.pad_to_multiple_of
    length = -(-max(lengths) // multiple) * multiple
    whole = np.full((len(arrays), length, *first.shape[1:]), value, first.dtype)
    for row, array in zip(whole, arrays, strict=True):
        row[: len(array)] = array
    return whole


def kinds_of(arrays: Batch) -> dict[str, str]:
    """Describe what all rows of a data set have in common."""
    plural = {1: "1 dimension"}
    return {
        name: f"{array.dtype} of {plural.get(array.ndim, f'{array.ndim} dimensions')}"
        for name, array in arrays.items()
    }


def compare_kinds(
    source: Path | str, found: Mapping[str, str], kinds: Mapping[str, str], where: str
) -> None:
    """Refuse arrays of other names, types or dimensions than those `where`."""
    for name in sorted(found.keys() | kinds.keys()):
        here, there = found.get(name, "missing"), kinds.get(name, "missing")
        if here != there:
            message = f"`{name}` is {here}, but {there} in {where}"
            raise Stop("failed", 2, f"{source}: {message}")
