"""Read the rows of a data set and cut them into windows of micro-batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from .settings import Settings, Stop

Batch = dict[str, np.ndarray]


def read_rows(path: Path, settings: Settings) -> Batch:
    """Read the arrays of an npz file: inputs by argument name, and the target."""
    limits, target = settings.limits, settings.target
    try:
        with np.load(path, allow_pickle=False) as file:
            names = [name for name in file.files if limits is None or name in limits]
            rows = {name: np.asarray(file[name]) for name in names}
    except Exception as error:  # a damaged file raises any
        hint = f"\n{settings.data_hint}" if settings.data_hint else ""
        raise Stop("failed", 2, f"cannot read {path}: {error}{hint}") from error
    if len(rows) < len(names):
        raise Stop("failed", 2, f"{path}: two arrays have the same name")
    sizes = {len(array) if array.ndim else 0 for array in rows.values()}
    if (target and target not in rows) or len(sizes) != 1 or 0 in sizes:
        named = f"`{target}` and " if target else ""
        needs = f"{named}arrays of equal length, of one row at least"
        raise Stop("failed", 2, f"{path}: needs {needs}")
    if limits is not None:
        return token_rows(path, rows, settings)
    labels = target if settings.classes else None
    if labels and rows[labels].ndim != 1 and not settings.unlabelled:
        raise Stop("failed", 2, f"{path}: needs `{labels}` of one number a row")
    return {n: common_type(path, n, a, n == labels) for n, a in rows.items()}


def token_rows(path: Path, rows: Batch, settings: Settings) -> Batch:
    """Return the arrays that a model of tokens takes, having looked at every value."""
    limits, longest = settings.limits or {}, settings.max_positions
    tokens = rows.get("input_ids", rows["labels"]).shape
    if len(tokens) != 2 or not 0 < tokens[1] <= longest:
        shape = f"[rows, tokens], of 1 to {longest} tokens"
        raise Stop("failed", 2, f"{path}: needs `input_ids` {shape}")
    for name, limit in limits.items():
        array = rows.get(name, np.zeros(()))
        right = array.shape == (tokens[:1] if name == "labels" else tokens)
        if not right or array.dtype.kind not in "biu":
            kind = "an integer for every " + ("row" if name == "labels" else "token")
            raise Stop("failed", 2, f"{path}: needs `{name}`, {kind}")
        known = array
        if settings.unlabelled and name == "labels":
            known = array[array != -100]  # these rows have no label
        if known.size and (known.min() < 0 or known.max() >= limit):
            raise Stop("failed", 2, f"{path}: `{name}` must be from 0 to {limit - 1}")
    # Frameworks read other integers differently: uint16 is bfloat16 to Paddle.
    return {name: rows[name].astype(np.int64, copy=False) for name in limits}


def common_type(path: Path, name: str, array: np.ndarray, classes: bool) -> np.ndarray:
    """Return an array as int64, float32 or bool, which all frameworks read alike."""
    types = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float32}
    dtype = types.get(array.dtype.kind)
    if dtype is None:
        raise Stop("failed", 2, f"{path}: `{name}` holds {array.dtype}, no numbers")
    if classes:
        dtype = np.int64
    if array.dtype == dtype:
        return array
    with np.errstate(invalid="ignore", over="ignore"):
        cast = array.astype(dtype)
    lost = cast != array if dtype is np.int64 else np.isinf(cast) & np.isfinite(array)
    if lost.any():
        value = f"{array[lost][0]!s}, which cannot be {cast.dtype}"
        raise Stop("failed", 2, f"{path}: `{name}` holds {value}")
    return cast


@lru_cache(maxsize=2)
def epoch_order(n_rows: int, epoch: int, seed: int, shuffle: bool = True) -> np.ndarray:
    """Order of the training rows in one epoch, the same on every framework."""
    if not shuffle:
        return np.arange(n_rows)
    return np.random.default_rng([seed, epoch]).permutation(n_rows)


def batches(
    rows: Batch, settings: Settings, start: int = 0, rank: int = 0
) -> Iterator[list[Batch]]:
    """Yield windows of micro-batches for ever, from window number `start` on.

    Of several data-parallel processes, the one with number `rank` gets its share.
    """
    n_rows = len(next(iter(rows.values())))
    chosen_rows = carried_rows if settings.tail == "carry" else window_rows
    for window in itertools.count(start):
        chosen = chosen_rows(n_rows, window, settings)[rank :: settings.processes]
        cuts = range(settings.micro_batch_size, len(chosen), settings.micro_batch_size)
        micro = np.split(chosen, cuts)
        yield [{name: a[index] for name, a in rows.items()} for index in micro]


def window_rows(n_rows: int, window: int, settings: Settings) -> np.ndarray:
    """Numbers of the rows of a window that ends with its epoch at the latest."""
    size, processes = settings.global_batch_size, settings.processes
    per_epoch, rest = divmod(n_rows, size)
    if settings.tail != "drop":
        # A short last window counts, unless some process would get no row of it.
        per_epoch += rest >= processes
    if not per_epoch:
        few = "do not fill one window" if settings.tail == "drop" else "are too few"
        raise Stop("failed", 2, f"{n_rows} rows {few}")
    epoch, index = divmod(window, per_epoch)
    order = epoch_order(n_rows, epoch, settings.seed, settings.shuffle)
    return order[index * size : (index + 1) * size]


def carried_rows(n_rows: int, window: int, settings: Settings) -> np.ndarray:
    """Numbers of the rows of a window that goes on with the next epoch's rows."""
    size, seed, shuffle = settings.global_batch_size, settings.seed, settings.shuffle
    epoch, first = divmod(window * size, n_rows)
    chosen = epoch_order(n_rows, epoch, seed, shuffle)[first:]
    while len(chosen) < size:
        epoch += 1
        chosen = np.concatenate([chosen, epoch_order(n_rows, epoch, seed, shuffle)])
    return chosen[:size]
