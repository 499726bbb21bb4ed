"""What a program does between two updates besides its optimizer, and whole tensors of the first.

Only in runs that hold a reading of the program against what it does. Standard library only, and
Python 3.8; windows need NumPy and safetensors, and are left out where the interpreter has none.

Further records of `updates`:

    {"kind": "told", "facts": {"seed": 3, "autocasts": ["float16"], ...}}      whenever some changed
    {"kind": "update", ..., "micro": [{"rows": 8, "losses": [{...}]}, ...]}    one a micro-batch

A loss is {"kind": "cross_entropy", "mean": true, "labels": 8, "factor": 0.5, ...}: `factor` is what
the backward pass began with, by what the function returned. The windows are files as `observe`
writes them.
"""

from __future__ import annotations

import math
from typing import Any

TENSORS = 4
"""Weights before and after, gradients as delivered and as applied."""
BYTES = 4


class Between:
    """What was seen since the last update, and facts that were told."""

    def __init__(self, records: Any, windows: Any) -> None:
        self._records = records
        self.windows = Windows(windows["folder"], windows["bytes"])
        self._facts: dict[str, Any] = {}
        self._told = True
        self._micro: list[dict[str, Any]] = []
        self._rows: int | None = None
        self._losses: list[dict[str, Any]] = []
        if self.windows.missing:
            self.tell(windows_need=self.windows.missing)

    def tell(self, **facts: Any) -> None:
        """Note facts; the first that was told of each counts."""
        for name, value in facts.items():
            if name not in self._facts:
                self._facts[name] = value
                self._told = False

    def add(self, name: str, value: str) -> None:
        """Add to a list of facts."""
        facts = self._facts.setdefault(name, [])
        if value not in facts:
            facts.append(value)
            self._told = False

    def rows(self, count: int) -> None:
        """Note the rows of a forward pass; the first since the last backward pass counts."""
        if self._rows is None:
            self._rows = count

    def loss(self, **facts: Any) -> dict[str, Any]:
        """Note a call of a loss; its factor is filled in by the backward pass."""
        noted = {"factor": None, **facts}
        self._losses.append(noted)
        return noted

    def backward(self) -> None:
        """A backward pass has ended; several of one forward pass are of one micro-batch."""
        if self._rows is None and self._micro and self._micro[-1]["rows"] is not None:
            self._micro[-1]["losses"] += self._losses
        else:
            self._micro.append({"rows": self._rows, "losses": self._losses})
        self._rows, self._losses = None, []

    def write_facts(self) -> None:
        """Write what was told since the last time."""
        if not self._told:
            self._told = True
            self._records.write({"kind": "told", "facts": self._facts})

    def seen(self) -> list[dict[str, Any]]:
        """Return the micro-batches so far."""
        return self._micro

    def taken(self) -> list[dict[str, Any]]:
        """Return the micro-batches of an attempt at an update, and forget them."""
        self.write_facts()
        micro, self._micro = self._micro, []
        self._rows, self._losses = None, []
        return micro


class Windows:
    """Writes the tensors of updates, from the first on, until they take too many bytes."""

    def __init__(self, folder: str, most: int) -> None:
        self._left = most
        self._number = 0
        self._updates = 0
        self.missing = ""
        try:
            from pathlib import Path

            from crosscast_parity.inside import observed_files, watcher

            self._files, self._seen = observed_files, watcher.Seen
            self._folder = Path(folder)
            self._files.clear(self._folder)
        except ImportError as error:
            self.missing = error.name or str(error)
            self._left = 0

    def wanted(self, weights: int) -> bool:
        """Whether the next update of so many weights is to be written."""
        return self._left >= TENSORS * BYTES * weights

    def end(self) -> None:
        """Write no more: one would not follow the last."""
        self._left = 0

    def write(self, groups: Any, *, micro: Any, lr: float, scale: float, skipped: bool) -> None:
        """Write an attempt.

        Args:
            groups: arrays by kind (`before`, `after`, `total`, `applied`) and name.
            micro: the micro-batches, as recorded.
            lr: the learning rate of the first group.
            scale: of the loss; 1 without one.
            skipped: whether no update was made.
        """
        self._left -= sum(array.nbytes for named in groups.values() for array in named.values())
        self._updates += not skipped
        squares = [float((a.astype("float64") ** 2).sum()) for a in groups["total"].values()]
        norm = math.sqrt(sum(squares)) / scale if math.isfinite(sum(squares)) else math.inf
        rows = [part["rows"] for part in micro]
        counted = rows if all(rows) else []
        row = {
            "window": self._number,
            "n_micro": max(1, len(micro)),
            "rows": sum(counted) or max(1, len(micro)),
            "loss": None,
            "lr": lr,
            "grad_norm": norm,
            "scale": scale,
            "skipped": skipped,
            "updates": self._updates,
        }
        self._files.write_window(self._folder, self._number, counted, row, self._seen(), groups)
        self._number += 1
