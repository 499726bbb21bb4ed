"""Find the ways to run a recipe within a memory limit, cheapest first.

Candidates are tried in the order of their rank until enough of them fit. The answers are those of
an exhaustive search, without assumptions about the growth of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from crosscast.fit.candidates import (
    HALF_BYTES,
    Candidate,
    candidates,
    changed_recipe,
    changes,
    own,
)
from crosscast.fit.cost import window_cost
from crosscast.fit.devices import ASSUMED, GpuModel, find_device
from crosscast.memory.records import Estimate
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.recipe.document import Recipe

Estimator = Callable[[Recipe], Estimate]
Check = Callable[[Recipe], None]
"""Raises `DiagnosticError` for a recipe that the target cannot express."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to run the recipe, with its memory and cost."""

    candidate: Candidate
    recipe: Recipe
    estimate: Estimate
    cost: float
    """What the order is decided by, and no time; see `crosscast.fit.cost`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of the solver for one target."""

    target: str
    limit: int
    """Bytes available to a process."""
    now: Variant
    """The unchanged recipe."""
    answers: tuple[Variant, ...]
    """Fitting variants, best first, at most the requested number."""
    smallest: Variant | None
    """The tried variant with least memory; without an answer, the minimum of all."""
    tried: int
    refused: tuple[Diagnostic, ...]
    """Reasons why the target cannot run some variants, without duplicates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Parameters of the search."""

    limit: int
    device: GpuModel | None = None
    precision: bool = False
    """Whether the precision may be changed."""
    most: int = 5
    """Number of answers."""

    @property
    def native(self) -> Collection[str]:
        """Half types that may be used."""
        return self.device.half_types if self.device else HALF_BYTES


def cost_of(recipe: Recipe, candidate: Candidate, device: GpuModel | None) -> float:
    """Return the modelled time of a window of a candidate."""
    return window_cost(
        steps=candidate.steps,
        tokens=candidate.micro_batch_size * recipe.data.sequence_length,
        checkpointing=candidate.checkpointing,
        dtype=candidate.compute_dtype,
        device=device or find_device(ASSUMED),
    )


def rank(
    recipe: Recipe, device: GpuModel | None, candidate: Candidate
) -> tuple[bool, float, int, int]:
    """Return the sort key: candidates that keep the meaning first, then by cost."""
    changed = changes(recipe, candidate)
    return (
        candidate.meaning == "differs",
        cost_of(recipe, candidate, device),
        len(changed),
        -candidate.micro_batch_size,
    )


def solve(
    recipe: Recipe, target: str, request: Request, *, estimate: Estimator, check: Check
) -> Outcome:
    """Return the variants that fit into the limit on one target.

    Raises:
        DiagnosticError: From `estimate` or `check`, if the unchanged recipe has no estimate or the
            target cannot express it.
    """
    check(recipe)
    mine = own(recipe)
    now = Variant(mine, recipe, estimate(recipe), cost_of(recipe, mine, request.device))
    variants: list[Variant] = []
    smallest: Variant | None = None
    tried = 0
    reasons: dict[tuple[bool, str, str], DiagnosticError] = {}
    every = candidates(recipe, native=request.native, precision=request.precision)
    for candidate in sorted(every, key=partial(rank, recipe, request.device)):
        kind = (candidate.checkpointing, candidate.mode, candidate.compute_dtype)
        other = None if kind in reasons else changed_recipe(recipe, candidate)
        if other is None:
            continue
        way = now if candidate == mine else _variant(candidate, other, request, estimate)
        tried += 1
        fits = way.estimate.total <= request.limit
        if not fits and smallest is not None and _takes_less(smallest, way):
            continue
        try:
            check(other)
        except DiagnosticError as error:
            reasons[kind] = error
            continue
        if smallest is None or not _takes_less(smallest, way):
            smallest = way
        if fits:
            variants.append(way)
            if len(variants) == request.most:
                break
    every_reason = (d for error in reasons.values() for d in error.diagnostics)
    refused = {(d.code, d.message): d for d in every_reason if d.severity is Severity.ERROR}
    return Outcome(
        target, request.limit, now, tuple(variants), smallest, tried, tuple(refused.values())
    )


def _takes_less(variant: Variant, other: Variant) -> bool:
    return variant.estimate.total <= other.estimate.total


def _variant(
    candidate: Candidate, recipe: Recipe, request: Request, estimate: Estimator
) -> Variant:
    cost = cost_of(recipe, candidate, request.device)
    return Variant(candidate, recipe, estimate(recipe), cost)
