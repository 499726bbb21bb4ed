"""Record what every window leaves: its row, the data it was given, the state after it.

For runs whose processes and shapes are compared with each other (`scaling_law`). It wraps only
`train_window` and asks the script's own functions for its arrays, so it works on every framework
and in every data-parallel process.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crosscast_parity.inside.emitted import offered, traced

Arrays = dict[str, np.ndarray]
SLOTS = (("model_arrays", "parameters/"), ("optimizer_arrays", ""), ("ema_arrays", "ema/"))
"""Functions of an emitted script that tell its state, and what is put before their names."""


class StepRecorder:
    """Writes `steps.jsonl`, one line a window, and the state after some windows as npz files."""

    def __init__(self, module: Any, folder: Path, kept: Collection[int]) -> None:
        self._module = module
        self._folder = folder
        self._kept = frozenset(kept)
        self._window = 0

    def install(self) -> None:
        """Replace `train_window` in the module; its source stays as it is."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "steps.jsonl").write_text("")
        self._module.train_window = self._recorded(self._module.train_window)

    def _recorded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def train_window(state: Any, micro_batches: Sequence[Any], *args: Any, **kw: Any) -> Any:
            row = original(state, micro_batches, *args, **kw)
            self._note(state, micro_batches, row)
            return row

        return train_window

    def _note(self, state: Any, micro_batches: Sequence[Any], row: Mapping[str, Any]) -> None:
        arrays = state_arrays(self._module, state)
        if self._window in self._kept:
            np.savez(self._folder / f"{self._window}.npz", **arrays)  # type: ignore[arg-type]
        self._window += 1
        line = {
            "row": {name: finite(value) for name, value in traced(self._module, row).items()},
            "given": [row_hashes(batch) for batch in micro_batches],
            "counters": scaler_counters(self._module, state),
            "digests": {name: digest(array) for name, array in arrays.items()},
        }
        with (self._folder / "steps.jsonl").open("a") as stream:
            stream.write(json.dumps(line) + "\n")


def state_arrays(module: Any, state: Any) -> Arrays:
    """Return the arrays of a script's state: `parameters/NAME`, `SLOT/NAME` and `ema/NAME`."""
    arrays: Arrays = {}
    for function, prefix in SLOTS:
        tell = offered(module, function)
        arrays.update(
            {f"{prefix}{n}": np.asarray(a) for n, a in tell(state).items()} if tell else {}
        )
    return arrays


def scaler_counters(module: Any, state: Any) -> dict[str, float]:
    """Return the loss scale and its counters; nothing of a script that does not tell them."""
    tell = offered(module, "scaler_counters")
    counters = tell(state) if tell else {}
    return {n: float(v) for n, v in counters.items() if isinstance(v, int | float)}


def finite(value: Any) -> Any:
    """Return a value of a row as JSON can hold it: null for what is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def row_hashes(batch: Mapping[str, Any]) -> list[int]:
    """Return a number for every row of a micro-batch that tells it from other rows."""
    arrays = [np.ascontiguousarray(batch[name]) for name in sorted(batch)]
    return [
        zlib.crc32(b"".join(array[i].tobytes() for array in arrays)) for i in range(len(arrays[0]))
    ]


def digest(array: np.ndarray) -> str:
    """Return a hash of the bits of an array."""
    return hashlib.sha1(np.ascontiguousarray(array).tobytes()).hexdigest()[:12]
