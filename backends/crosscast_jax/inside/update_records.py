"""The records of a program's updates, from what was told of each in the order of its execution.

An update begins with the gradients that the optimizer gets, goes on with the terms of its
transformations, and ends with what is added to the weights. Gradients before it are those that
`jax.grad` returned since the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from crosscast_jax.inside.gradient_sums import before_clips, near
from crosscast_jax.inside.transformations import CLIP
from crosscast_jax.inside.update_settings import Settings, ToldTerm, roles_of, settings_of
from crosscast_parity.inside.updates import Records

CLIPPED_APART = "gradients are clipped before they are added up: that was not exercised"


class Update:
    """What was told of one update."""

    def __init__(self, optimizer: int, names: Sequence[str]) -> None:
        self.optimizer, self.names = optimizer, tuple(names)
        self.terms: list[ToldTerm] = []
        self.handed: dict[str, Any] = {}
        self.clipped: dict[str, Any] = {}
        self.before: dict[str, Any] = {}
        self.after: dict[str, Any] = {}
        self.kinds: list[str] = []


class Updates:
    """Puts together what is told; every method is called in the order of the execution."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._between: Any = records.between
        self._current: Update | None = None
        self._pending: Update | None = None
        self._emits = True
        self._count = 1
        self._delivered: dict[str, Any] = {}
        self._passes = 0
        self._numbers: list[int] = []
        self._clips: list[dict[str, Any]] = []
        self._before_clips: dict[str, Any] = {}
        self._last: Any = None
        self.seeds: set[int] = set()
        self.types: set[str] = set()
        """Of products in what is compiled."""
        self.stopped = False
        """Whether nothing more is recorded: what follows could not be seen whole."""

    def wants(self, count: int) -> bool:
        """Whether whole tensors of the next update of so many numbers are to be told."""
        return bool(self._between.windows.wanted(count))

    @property
    def wants_tensors(self) -> bool:
        """Whether whole tensors of the next update are to be told, as far as its size is known."""
        return self.wants(self._count)

    def final(self) -> list[Any]:
        """Record the last update; the weights at the end are not told."""
        self.flush()
        self._write_last({})
        return []

    def stop(self, reason: str) -> None:
        """Record nothing more; the updates so far stay."""
        if not self.stopped:
            self.flush()
            self.stopped = True
            self._between.tell(unseen=reason)
            self._between.write_facts()

    def passed(self, rows: int | None, gradients: Any = None) -> None:
        """A function was differentiated; `gradients` by name, if they are told."""
        if self.stopped:
            return
        self.flush()
        if rows is not None:
            self._between.rows(rows)
        self._between.backward()
        self._passes += 1
        if gradients is None:
            return
        arrays = {name: np.array(value, np.float64) for name, value in gradients.items()}
        if self._passes == 1:
            self._delivered = arrays
        elif self._delivered.keys() == arrays.keys():
            for name, array in arrays.items():
                self._delivered[name] = self._delivered[name] + array
        else:
            self._delivered = {}

    def micro(self, emits: bool) -> None:
        """A micro-batch is added up; `emits`: the last one, after which an update is made."""
        if self._current is not None and any(t.kind.startswith(CLIP) for t in self._current.terms):
            self._between.windows.end()
            self._between.tell(notes=[CLIPPED_APART], clips_unseen=True)
        self._current = None
        self._emits = bool(emits)

    def begin(self, update: Update) -> None:
        """An optimizer gets gradients."""
        if not self.stopped:
            self.flush()
            self._current = update
            self._write_last(update.before)
            self._count = sum(array.size for array in update.handed.values()) or self._count

    def term(self, term: ToldTerm, clipped: Any = None) -> None:
        """A transformation is applied; `clipped`: what a clip of all gradients returns."""
        update = self._current or self._pending
        if update is not None:
            update.terms.append(term)
            if clipped is not None and all(t.kind.startswith(CLIP) for t in update.terms):
                update.clipped = clipped

    def end(self) -> None:
        """An optimizer has returned what it adds to the weights."""
        update, self._current = self._current, None
        emits, self._emits = self._emits, True
        if update is None or not emits or self.stopped:
            return
        if update.terms and all(term.kind.startswith(CLIP) for term in update.terms):
            told = settings_of(update.terms, update.names)
            self._clips += told.clips
            self._before_clips = self._before_clips or update.handed
            return
        self._pending = update

    def applied(self, names: Sequence[str], before: Any = None, after: Any = None) -> None:
        """Weights were updated: the update is complete."""
        update = self._pending
        if update is None or set(names) != set(update.names):
            return
        if after is not None:
            if not update.before:
                update.before = before
                self._write_last(before)
            update.after = after
        self.flush()

    def flush(self) -> None:
        """Record an update that has ended."""
        update, self._pending = self._pending, None
        if update is None or self.stopped:
            return
        if not self._numbers:
            self._tell_framework()
        if update.optimizer not in self._numbers:
            self._numbers.append(update.optimizer)
        told = settings_of(update.terms, update.names)
        alone = len(self._numbers) == 1
        self._tell(update, told)
        self._write(update, told, alone=alone)
        clips, self._clips = [*self._clips, *told.clips], []
        passes, self._passes = self._passes, 0
        self._delivered, self._before_clips = {}, {}
        self._records.attempt(
            {
                "micro": self._between.taken(),
                "optimizer": self._numbers.index(update.optimizer),
                "class": told.cls,
                "skipped": False,
                "backwards": passes,
                "scale": None,
                "settings": told.groups,
                "clips": clips,
                "gradients": [],
                "changes": [],
                "types": sorted(self.types),
            }
        )

    def _tell(self, update: Update, told: Settings) -> None:
        self._between.tell(
            parameters=[
                {"name": name, "roles": roles_of(name), "group": told.group_of[name]}
                for name in update.names
            ],
            weights=sorted(set(update.kinds)),
        )
        if len(self.seeds) == 1:
            self._between.tell(seed=next(iter(self.seeds)))

    def _write(self, update: Update, told: Settings, *, alone: bool) -> None:
        """Write whole tensors, if they were told and are of the only optimizer."""
        windows = self._between.windows
        whole = update.before and update.after and update.handed
        if not alone or not whole or set(update.kinds) != {"float32"}:
            windows.end()
        if not whole or not windows.wanted(sum(a.size for a in update.after.values())):
            if not self._records.attempts:
                self._between.tell(clips_unseen=True)
            return
        groups = {
            "before": update.before,
            "after": update.after,
            "total": self._total(update),
            "applied": update.clipped or update.handed,
        }
        self._last = groups, self._between.seen(), float(told.groups[0]["lr"])

    def _write_last(self, weights: Any) -> None:
        """Write the last update, with the weights that the program has after it, if these are told.

        A twin may round otherwise than the program.
        """
        last, self._last = self._last, None
        if last is not None:
            groups, micro, lr = last
            after = groups["after"]
            if weights.keys() == after.keys() and near(weights, after):
                groups["after"] = weights
            self._between.windows.write(groups, micro=micro, lr=lr, scale=1.0, skipped=False)

    def _total(self, update: Update) -> Any:
        """Return the gradients of the window before they were clipped, if that is known."""
        handed = self._before_clips or update.handed
        total = before_clips(handed, self._delivered, self._passes)
        if total is None:
            self._between.tell(clips_unseen=True)
        return handed if total is None else total

    def _tell_framework(self) -> None:
        device = jax.default_backend()
        self._records.write(
            {
                "kind": "framework",
                "name": "jax",
                "version": str(jax.__version__),
                "device": "cpu" if device == "cpu" else "gpu",
                "forced": False,
            }
        )
