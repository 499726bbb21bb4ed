"""Compare the modules of two frameworks and find the first that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosscast_parity.modules.alignment import Pair, aligned
from crosscast_parity.modules.calls import Call, ancestors
from crosscast_parity.modules.layouts import distance, norm_distance, other_sizes, unpadded
from crosscast_parity.weights.proof import GRADIENTS, OUTPUTS

INSIDE = 2e-5
"""Relative difference up to which modules inside two models are the same. It is less than for whole
models, of which it is asked where a difference begins, not whether there is one."""

SMALL_GRADIENTS = 1e-4
"""Difference of gradients that is named in models which are not the same, if none is larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A pair of calls and how far apart they are; None where nothing can be compared."""

    pair: Pair
    inputs: float | None
    outputs: float
    gradients: float | None

    @property
    def same_inputs(self) -> bool:
        """Whether both got the same."""
        return self.inputs is not None and self.inputs <= INSIDE

    @property
    def same_outputs(self) -> bool:
        """Whether both returned the same."""
        return self.outputs <= INSIDE


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a difference begins.

    `at`: the first module that differs. `after`: the last one before it that does not. `within`:
    the module whose own code is between both; None if the module itself makes the difference. It is
    `at` where its code goes on behind all modules that it calls.
    """

    at: Compared
    after: Compared | None
    within: Call | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The modules of two frameworks. `outputs`: of the models, and `weights`: the gradients of
    weights, the largest differences."""

    first: str
    other: str
    ours: Sequence[Call]
    theirs: Sequence[Call]
    compared: Sequence[Compared]
    outputs: float
    weights: float

    @property
    def same(self) -> bool:
        """Whether the models are the same function: what is inside may have another order."""
        return self.outputs <= OUTPUTS and self.weights <= GRADIENTS

    def first_output(self) -> Place | None:
        """Return where outputs begin to differ."""
        if self.outputs <= OUTPUTS:
            return None
        for number, entry in enumerate(self.compared):
            if not entry.same_outputs:
                return self._place(number)
        return None

    def first_gradient(self) -> Compared | None:
        """Return the first module, in the order of the backward pass, whose gradient differs."""
        if self.same:
            return None
        backward = sorted(self.compared, key=lambda entry: entry.pair.a.number, reverse=True)
        for limit in (GRADIENTS, SMALL_GRADIENTS):
            for entry in backward:
                if entry.gradients is not None and entry.gradients > limit:
                    return entry
        return None

    def gradient_after(self, entry: Compared) -> Compared | None:
        """Return the module that comes before one in the backward pass."""
        later = [c for c in self.compared if c.pair.a.number > entry.pair.a.number]
        known = [c for c in later if c.gradients is not None]
        return min(known, key=lambda c: c.pair.a.number, default=None)

    def _own_code(self, at: Compared) -> bool:
        """Whether a module differs although all that it calls are the same: its own code does."""
        inner = [c for c in self.ours if at.pair.a in ancestors(c, self.ours)]
        known = {c.pair.a.number: c for c in self.compared}
        return bool(inner) and all(
            call.number in known and known[call.number].same_outputs for call in inner if call.leaf
        )

    def _place(self, number: int) -> Place:
        at = self.compared[number]
        earlier = [
            c for c in self.compared[:number] if c.same_outputs and c.pair.a.end < at.pair.a.end
        ]
        after = max(earlier, key=lambda c: c.pair.a.end, default=None)
        if self._own_code(at):
            return Place(at=at, after=after, within=at.pair.a)
        if at.same_inputs or at.inputs is None:
            return Place(at=at, after=after, within=None)
        around = ancestors(at.pair.a, self.ours)
        if after is not None:
            numbers = {call.number for call in ancestors(after.pair.a, self.ours)}
            around = [call for call in around if call.number in numbers]
        return Place(at=at, after=after, within=around[0] if around else None)


def compared(pair: Pair) -> Compared:
    """Compare the calls of a pair."""
    ours, theirs = pair.first_of_a.inputs, pair.first_of_b.inputs
    inputs = None
    if ours and len(ours) == len(theirs):
        far = max(_input_distance(a, b) for a, b in zip(ours, theirs, strict=True))
        inputs = far if far < float("inf") else None
    a, b = pair.a, pair.b
    back = None
    if a.gradients[0] is not None and b.gradients[0] is not None:
        far = norm_distance(a.gradients[0], b.gradients[0])
        back = far if far < float("inf") else None
    return Compared(
        pair=pair, inputs=inputs, outputs=distance(a.outputs[0], b.outputs[0]), gradients=back
    )


def _input_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return how far inputs are apart; a layer before may have padded those of one framework."""
    return distance(unpadded(a), unpadded(b)) if other_sizes(a, b) else distance(a, b)


def compare(
    names: tuple[str, str],
    ours: Sequence[Call],
    theirs: Sequence[Call],
    *,
    outputs: float,
    weights: float,
) -> Comparison:
    """Compare the modules of two frameworks in order of execution."""
    return Comparison(
        first=names[0],
        other=names[1],
        ours=ours,
        theirs=theirs,
        compared=[compared(pair) for pair in aligned(ours, theirs)],
        outputs=outputs,
        weights=weights,
    )
