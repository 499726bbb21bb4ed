"""What an emitted script offers, wherever it stands: in train.py or in a module of its runtime."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

PARTS = ("settings", "rows", "sources", "device", "state", "checkpoint", "run")
"""Modules of `runtime/`."""
SEAMS = ("micro_batch_loss", "train_window")
"""Functions of train.py that are wrapped: without them nothing is recorded, injected or given."""
NEEDS = {"ema_arrays": "averages", "scaler_counters": "scale"}
"""Functions of `runtime/` that tell nothing of some recipes, and the setting of the others."""

UNSCALED = {"scale": 1.0, "skipped": False}
"""What the trace has and `train_window` does not return if the recipe has no loss scale."""


def part_of(script: Any, part: str) -> ModuleType | None:
    """Return a module of a script's runtime; None for a script that was not emitted."""
    module = sys.modules.get(f"runtime.{part}") if hasattr(script, "SETTINGS") else None
    file, own = getattr(module, "__file__", None), getattr(script, "__file__", None)
    beside = file and own and Path(file).parents[1] == Path(own).parent
    return module if beside else None


def offered(script: Any, name: str) -> Any:
    """Return a function or constant of a script by name; None if it has none."""
    if hasattr(script, name):
        return getattr(script, name)
    if name in NEEDS and not getattr(getattr(script, "SETTINGS", None), NEEDS[name], None):
        return None
    for module in (part_of(script, part) for part in PARTS):
        if hasattr(module, name):
            return getattr(module, name)
    return None


def traced(script: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row that `train_window` of a script returned, as the script's trace has it."""
    return {**UNSCALED, **row} if part_of(script, "run") else dict(row)


def layout_of(script: Any, state: Any) -> Callable[[str, Any], Any]:
    """Return the function that turns an array of a script's model into the canonical layout."""
    tell = offered(script, "layout_of")
    if tell is not None:
        return tell(getattr(state, "model", None))  # type: ignore[no-any-return]
    return offered(script, "exchange_layout") or (lambda name, array: array)


def arguments_of(script: Any, argv: Sequence[str]) -> Any:
    """Return a command line as an emitted script reads it."""
    options = getattr(script, "add_options", None)
    return offered(script, "parse_arguments")(script.SETTINGS, list(argv), options)


def prepared(script: Any, device: Any, argv: Sequence[str] = ()) -> Any:
    """Return the state that a run of an emitted script starts with.

    Args:
        script: The loaded script.
        device: Instead of the one that it would choose, as its framework calls it.
        argv: Its command line.
    """
    run = offered(script, "Run")(script.SETTINGS, arguments_of(script, argv))
    run.device = device
    return script.make_state(run)


def batches(
    row_numbers: Callable[..., Iterator[list[Any]]],
    rows: Mapping[str, Any],
    settings: Any,
    start: int = 0,
    rank: int = 0,
) -> Iterator[list[dict[str, Any]]]:
    """Yield windows of micro-batches of rows in memory, for ever, in the order of a script.

    Args:
        row_numbers: The function of the script's runtime.
        rows: Arrays by name.
        settings: The script's `SETTINGS`.
        start: Number of the first window.
        rank: Number of the data-parallel process.
    """
    n_rows = len(next(iter(rows.values())))
    for window in row_numbers(n_rows, settings, start, rank):
        yield [{name: array[numbers] for name, array in rows.items()} for numbers in window]
