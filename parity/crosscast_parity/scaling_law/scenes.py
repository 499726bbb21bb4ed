"""The scenes of a run: plain, or with overflows in single micro-batches of single processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from crosscast.recipe.document import DynamicLossScaling
from crosscast_parity.inside.inject import Fault
from crosscast_parity.scaling_law.recipes import Subject
from crosscast_parity.scaling_law.shapes import Shape, windows_of

FIRST = 2
"""Window of the first overflow: there has been an update by then."""
KINDS = ("inf", "nan", "-inf")


@dataclass(frozen=True, slots=True)
class Overflow:
    """A fault in one window, on one side of the window: `late` is its last process and micro-batch.

    In a shape of one process it lies in the first or the last micro-batch.
    """

    window: int
    kind: str
    late: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """One course of a run, made in every shape."""

    name: str
    overflows: tuple[Overflow, ...] = ()

    @property
    def windows(self) -> frozenset[int]:
        """Windows that overflow."""
        return frozenset(overflow.window for overflow in self.overflows)


def scenes_of(subject: Subject) -> tuple[Scene, Scene]:
    """Return the plain run and the one in which single processes overflow.

    With a loss scale: enough windows in a row for one back-off, and one more later. Without, the
    first overflow ends the run.
    """
    scaling = subject.recipe.loss_scaling
    if not subject.recipe.scaling_on:
        return Scene("plain"), Scene("overflow", (Overflow(FIRST, "inf", True),))
    row = scaling.hysteresis if isinstance(scaling, DynamicLossScaling) else 1
    places = [*range(FIRST, FIRST + max(2, row)), FIRST + max(2, row) + 2]
    overflows = tuple(
        Overflow(window, KINDS[number % len(KINDS)], number % 2 == 0)
        for number, window in enumerate(places)
        if window < subject.windows
    )
    return Scene("plain"), Scene("overflow", overflows)


def faults_of(scene: Scene, subject: Subject, shape: Shape) -> Mapping[int, tuple[Fault, ...]]:
    """Return the faults of a shape by process; processes without one are left out."""
    by_process: dict[int, list[Fault]] = {}
    for process, fault in _faults(scene, subject, shape):
        by_process.setdefault(process, []).append(fault)
    return {process: tuple(faults) for process, faults in by_process.items()}


def _faults(scene: Scene, subject: Subject, shape: Shape) -> Iterator[tuple[int, Fault]]:
    windows = list(
        islice(windows_of(shape.applied(subject.recipe), subject.train_rows), subject.windows)
    )
    for overflow in scene.overflows:
        ranks = windows[overflow.window]
        process = len(ranks) - 1 if overflow.late else 0
        micro = len(ranks[process]) - 1 if overflow.late else 0
        yield process, Fault(overflow.window, micro, overflow.kind)
