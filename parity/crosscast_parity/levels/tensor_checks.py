"""Checks about tensors: the worst of all errors against a limit, and which tensors are off."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import Level
from crosscast_parity.recordings.roles import roles_of

UNSEEN = 1e-2
"""Share of its own step, or gradient, by which no tensor may be off without a word."""
ROUGH = 10.0
"""Frameworks sum in other orders: float32 moves them by so many times what it moves NumPy."""


@dataclass(frozen=True, slots=True)
class TensorError:
    """How far one tensor of one window is off, relative to its size."""

    window: int
    name: str
    error: float


def excused(error: float, noise: float, limit: float) -> bool:
    """Whether an error over the limit may be rounding.

    Args:
        error: Of one tensor.
        noise: How far float32 moves the same tensor in the reference.
        limit: Largest error that needs no excuse.
    """
    return not noise <= limit and error <= max(UNSEEN, ROUGH * noise)


def unknown(errors: Iterable[TensorError]) -> str:
    """Return in words which excused errors are too large to go without saying; empty for none."""
    large = [error for error in errors if not error.error <= UNSEEN]
    if not large:
        return ""
    first = f"window {large[0].window}, {large[0].name}"
    more = f" and {len(large) - 1} more" if len(large) > 1 else ""
    return f"float32 rounds off more than {UNSEEN:.0%} of {first}{more}"


def judge_tensors(
    level: Level, name: str, errors: Iterable[TensorError], limit: float, *, nothing: str
) -> Check:
    """Turn errors into a check: the worst against the limit.

    Args:
        level: level of the check.
        name: what is compared.
        errors: one per tensor and window, windows in order.
        limit: largest error that passes.
        nothing: wording of the `not tested` result if there is no error to judge.
    """
    measured = list(errors)
    if not measured:
        return untested(level, name, nothing)
    value = max(error.error for error in measured)
    over = [error for error in measured if not error.error <= limit]
    if not over:
        words = f"{value:.2g} (limit {limit:g})"
        return Check(level=level, name=name, result="pass", wording=words, value=value, limit=limit)
    first = [error for error in over if error.window == over[0].window]
    worst = max(first, key=lambda error: error.error)
    together = {error.name for error in measured if error.window == worst.window}
    words = (
        f"window {worst.window}, {worst.name}: off by {worst.error:.2g} (limit {limit:g});"
        f" {which({error.name for error in first}, together)}"
    )
    return Check(
        level=level,
        name=name,
        result="fail",
        wording=words,
        value=value,
        limit=limit,
        window=worst.window,
    )


_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("biases", frozenset({"bias"})),
    ("LayerNorm weights", frozenset({"layer_norm"})),
    ("biases and LayerNorm weights", frozenset({"bias", "layer_norm"})),
    ("embeddings", frozenset({"embedding"})),
)


def which(off: Collection[str], names: Collection[str]) -> str:
    """Return how many tensors are off and, if it is one kind alone, of which kind they are."""
    count = f"{len(off)} of {len(names)} tensors"
    roles = roles_of(names)
    for words, kinds in _KINDS:
        of_kind = {name for name in names if roles[name] & kinds}
        if set(off) <= of_kind and len(of_kind) < len(names) and len(off) > 1:
            return f"{count}, only {words}"
        if set(off) == set(names) - of_kind and of_kind:
            return f"{count}, all but {words}"
    return count


def untested(level: Level, name: str, why: str) -> Check:
    """Return the check of something that the recorded data cannot decide."""
    return Check(level=level, name=name, result="not tested", wording=why)
