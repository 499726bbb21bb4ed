"""Whether a run that is resumed goes on with the state that it ended with, seen from outside.

The state after the last window of one part and that before the first window of the next must have
the same bits in every framework: in between it is only written and read. What is left in the run's
folder, resumed.json:

    {"window": 7, "tensors": 120, "off": {"ema/classifier.bias": "the weights"},
     "counters": {"good": [0, 0], "bad": [1, 0]}, "next": {"windows": 8, "stuck": 1}}

"window": the first one after the resume. "tensors": how many there are, `parameters/NAME`,
`SLOT/NAME` and `ema/NAME`. "off": those that are not what they were, and what they are instead,
empty if that is not known. "counters": each before and after, null where there is none. "next": the
counters in the checkpoint after that window, null if it was not seen.

`stuck`, the count of overflows in a row at the lowest scale, is known to the checkpoint and to the
run only, and nearly always 0. So the checkpoint is made to say 1 between the parts, and the run is
asked what it began with. The next window that does not overflow there resets it: nothing else of
the run depends on it. Only after a skipped window can it be 1, so only there it is changed: scripts
refuse a checkpoint whose counters no run has together.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crosscast_parity.inside.steps import Arrays, digest, scaler_counters, state_arrays

FILE = "resumed.json"
CHECKPOINT = "checkpoint.safetensors"
COUNTS = ("windows", "updates")
STUCK = b'\\"stuck\\": 0'
"""In the header of a checkpoint, whose counters are JSON within JSON."""


class Continuity:
    """Watches both parts of a run that is resumed before a window."""

    def __init__(self, window: int, output: Path) -> None:
        self._window, self._output = window, output
        self._held: dict[str, str] = {}
        self._counters: dict[str, float] = {}
        self._found: dict[str, Any] = {}
        self._marked = False

    def mark(self) -> None:
        """Let the checkpoint between the parts say one overflow at the lowest scale."""
        self._marked = mark_stuck(self._output / CHECKPOINT)

    def install(self, module: Any, *, resumed: bool) -> None:
        """Replace `train_window` in the module, which is loaded anew for each part."""
        original = getattr(module, "train_window", None)
        if original is not None:
            module.train_window = (self._goes_on if resumed else self._ends)(module, original)

    def _ends(self, module: Any, original: Callable[..., Any]) -> Callable[..., Any]:
        def train_window(state: Any, micro_batches: Sequence[Any], *args: Any, **kw: Any) -> Any:
            row = original(state, micro_batches, *args, **kw)
            if getattr(state, "windows", None) == self._window:
                arrays = state_arrays(module, state)
                self._held = {name: digest(array) for name, array in arrays.items()}
                self._counters = counters_of(module, state)
            return row

        return train_window

    def _goes_on(self, module: Any, original: Callable[..., Any]) -> Callable[..., Any]:
        def train_window(state: Any, micro_batches: Sequence[Any], *args: Any, **kw: Any) -> Any:
            if not self._found:
                self._compare(module, state)
            elif self._found["next"] is None:
                self._found["next"] = checkpoint_counters(self._output / CHECKPOINT)
                self._write()
            return original(state, micro_batches, *args, **kw)

        return train_window

    def _compare(self, module: Any, state: Any) -> None:
        arrays = state_arrays(module, state)
        before, after = dict(self._counters), counters_of(module, state)
        stuck = stuck_of_run()
        if self._marked and stuck is not None:
            before["stuck"], after["stuck"] = 1.0, stuck
        off = {
            n: instead(n, a, arrays) for n, a in arrays.items() if self._held.get(n) != digest(a)
        }
        off.update(dict.fromkeys(self._held.keys() - arrays.keys(), "missing"))
        names = [*before, *(name for name in after if name not in before)]
        self._found = {
            "window": self._window,
            "tensors": len(self._held),
            "off": off,
            "counters": {name: [before.get(name), after.get(name)] for name in names},
            "next": None,
        }
        self._write()

    def _write(self) -> None:
        path = self._output / FILE
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(self._found))
        partial.replace(path)


def stuck_of_run() -> float | None:
    """Return the count of overflows at the lowest scale of the script's run, which calls us."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        count = getattr(frame.f_locals.get("run"), "stuck", None)
        if isinstance(count, int):
            return float(count)
        frame = frame.f_back
    return None


def mark_stuck(path: Path) -> bool:
    """Change a count of 0 in a checkpoint to 1 if an overflow was last; return whether it was."""
    counters = checkpoint_counters(path)
    good, windows, updates = (counters.get(name) for name in ("good", "windows", "updates"))
    if good != 0 or windows is None or updates is None or windows <= updates:
        return False
    try:
        with path.open("r+b") as file:
            header = file.read(int.from_bytes(file.read(8), "little"))
            place = header.find(STUCK) + len(STUCK)
            if header.count(STUCK) != 1 or header[place : place + 1].isdigit():
                return False
            file.seek(8 + place - 1)
            file.write(b"1")
            return True
    except OSError:
        return False


def counters_of(module: Any, state: Any) -> dict[str, float]:
    """Return the counts of windows and updates, the loss scale and its counters."""
    counts = {name: float(getattr(state, name)) for name in COUNTS if hasattr(state, name)}
    return {**counts, **scaler_counters(module, state)}


def instead(name: str, array: np.ndarray, arrays: Arrays) -> str:
    """Say what a tensor is that is not what it was; empty if that is not known."""
    weights = arrays.get(f"parameters/{name.partition('/')[2]}")
    if not array.any():
        return "zeros"
    if not name.startswith("parameters/") and weights is not None:
        same = array.shape == weights.shape and digest(array) == digest(weights)
        if same:
            return "the weights"
    if array.dtype != np.float32:
        return ""
    if not (np.ascontiguousarray(array).view(np.uint32) & 0xFFFF).any():
        return "rounded to bfloat16"
    with np.errstate(over="ignore"):
        rounded = array.astype(np.float16).astype(np.float32)
    return "rounded to float16" if np.array_equal(array, rounded) else ""


def checkpoint_counters(path: Path) -> dict[str, Any]:
    """Return the counters of a checkpoint from its header; nothing if they cannot be read."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        counters = json.loads(header["__metadata__"]["counters"])
        return counters if isinstance(counters, dict) else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}
