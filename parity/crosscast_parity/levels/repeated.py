"""How far two runs of one program are apart that should leave the same bits.

Not every framework always adds in the same order: of many equal runs of one TensorFlow script in
one process, some have other last bits. Where bits differ, the size of the difference tells rounding
from a mistake.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from crosscast.emit.lowering import MEAN_SQUARES
from crosscast.plan.operations import Dtype
from crosscast_parity.checks.check import relative
from crosscast_parity.checks.table import limit_of
from crosscast_parity.inputs.weights import load
from crosscast_parity.recordings.trace import TraceRow

SMALL = 1e-2
"""Share of the largest moment; smaller ones are compared with it. The gradients of key biases are
rounding and nothing else, so the size of a tensor alone is no measure."""

Tensors = Mapping[str, np.ndarray]
_WEIGHTS = ("", "model/", "ema/")
_SQUARES = tuple(f"optimizer/{slot}/" for slot in MEAN_SQUARES)


@dataclass(frozen=True, slots=True)
class Repeated:
    """One of two runs that should be equal: its trace, and the folder with the files it left."""

    rows: Sequence[TraceRow]
    folder: Path


@dataclass(frozen=True, slots=True)
class Rounding:
    """By what rounding is measured: the type of the matmuls and the file of the first weights.

    `allowed`: whether the framework may leave other bits at all.
    """

    dtype: Dtype
    start: Path
    allowed: bool

    @property
    def computed(self) -> float:
        """The limit of what is computed from the rows: loss, norm and moments."""
        return limit_of("gate", "traces", self.dtype) if self.allowed else 0.0

    @property
    def moved(self) -> float:
        """The limit of weights, as a share of what the run moved them."""
        return limit_of("gate", "weights", self.dtype) if self.allowed else 0.0

    def used(self, ours: Tensors, others: Tensors, alone: Collection[str] = ()) -> float:
        """Return the largest difference between two files, as a share of its limit.

        Args:
            alone: names of weights that are compared by themselves, too (`decided_by_gradients`).
            ours: tensors by name; in a checkpoint the names begin with `model/`, `ema/` or
                `optimizer/SLOT/`.
            others: those of the other run. Other names or shapes are infinitely far.

        Raises:
            DiagnosticError: the first weights cannot be read.
        """
        if {n: a.shape for n, a in ours.items()} != {n: a.shape for n, a in others.items()}:
            return math.inf
        start = load(self.start)
        used = [0.0]
        for kind, names in _kinds(ours).items():
            pairs = [_exactly(ours[kind + name], others[kind + name]) for name in names]
            if kind in _WEIGHTS:
                moved = [
                    a - start.get(name, 0.0) for name, (a, _) in zip(names, pairs, strict=True)
                ]
                used.append(_share(_of_movement(pairs, moved), self.moved))
                used += [
                    _share(_of_movement([pair], [own]), self.moved)
                    for name, pair, own in zip(names, pairs, moved, strict=True)
                    if name in alone
                ]
                continue
            if kind in _SQUARES:
                pairs = [(np.sqrt(np.abs(a)), np.sqrt(np.abs(b))) for a, b in pairs]
            used.append(_share(_of_size(pairs), self.computed))
        return max(used)

    def decided_by_gradients(self, checkpoint: Tensors) -> set[str]:
        """Return the weights that gradients above rounding move, by their moments.

        Gradients of key biases are nothing but rounding. Adam moves them by whole steps in random
        directions, so that they are not compared by themselves; nor is any weight where an
        optimizer has no moments.
        """
        decided: set[str] = set()
        for kind, names in _kinds(checkpoint).items():
            if kind in _WEIGHTS:
                continue
            squares = kind in _SQUARES
            peaks = {n: _peak(checkpoint[kind + n].astype(np.float64)) for n in names}
            sizes = {n: math.sqrt(peak) if squares else peak for n, peak in peaks.items()}
            least = self.computed * max(sizes.values(), default=0.0)
            decided |= {name for name, size in sizes.items() if size > least}
        return decided


def row_distance(ours: TraceRow, others: TraceRow) -> float:
    """Return how far loss and norm of two rows are apart; inf if anything else differs.

    The peak of the memory is no result of training and may differ.
    """
    same = replace(others, loss=ours.loss, grad_norm=ours.grad_norm, peak_memory=ours.peak_memory)
    if same != ours:
        return math.inf
    return max(relative(ours.loss, others.loss), relative(ours.grad_norm, others.grad_norm))


def _kinds(tensors: Tensors) -> Mapping[str, list[str]]:
    """Return the names of each kind, which is what stands before them."""
    kinds = defaultdict(list)
    for full in sorted(tensors):
        parts = full.split("/")
        name = parts[-1] if parts[0] in ("model", "ema", "optimizer") else full
        kinds[full.removesuffix(name)].append(name)
    return kinds


Pairs = Sequence[tuple[np.ndarray, np.ndarray]]


def _exactly(ours: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ours.astype(np.float64), others.astype(np.float64)


def _of_movement(pairs: Pairs, moved: Sequence[np.ndarray]) -> float:
    """Return the norm of all differences as a share of that of all movements.

    Of all tensors together: Adam moves key biases, too, by whole steps in random directions.
    """
    return _share(_norm(a - b for a, b in pairs), _norm(moved))


def _of_size(pairs: Pairs) -> float:
    """Return the largest difference as a share of the largest entry of its tensor."""
    sizes = [_peak(a) for a, _ in pairs]
    least = SMALL * max(sizes, default=0.0)
    shares = (
        _share(_peak(a - b), max(size, least)) for size, (a, b) in zip(sizes, pairs, strict=True)
    )
    return max(shares, default=0.0)


def _share(difference: float, whole: float) -> float:
    """Return a share, inf if it is none."""
    if difference == 0.0:
        return 0.0
    return difference / whole if whole > 0.0 and math.isfinite(difference) else math.inf


def _peak(array: np.ndarray) -> float:
    return float(np.abs(array).max(initial=0.0))


def _norm(arrays: Iterator[np.ndarray] | Sequence[np.ndarray]) -> float:
    return math.sqrt(sum(float(np.square(array).sum()) for array in arrays))
