"""Compare two recordings, attempt by attempt: the first difference, by name.

Two runs of the same arithmetic on the same machine agree to the last bit. Where two spellings round
otherwise, the bound is measured: another run of the original is moved by what rounding changes, in
its first weights and in every gradient, and what the two may differ by is a multiple of what that
makes of it, for every tensor and up to every update. Nothing is compared from where rounding alone
decides (`UNSTABLE`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from crosscast.targets.backend import harness_of
from crosscast.targets.harness import Updates
from crosscast_parity.side_by_side.recording import RecordedAttempt, Recording, TensorSummary

FLOOR = 2.0**-18
"""Of any bound: sixty-four units in the last place of float32, as sums that cancel may lose."""
MARGIN = 8.0
"""How many times what a moved run shows is still rounding."""
UNSTABLE = 0.05
"""From a bound like this on nothing is said of an update: rounding alone moves it so far."""
SMALL = 1e-3
"""A tensor is judged against its norm and this share of the norm of all tensors."""
HYPER = ("weight_decay", "momentum", "nesterov", "betas", "eps", "bias_correction")
"""Settings of optimizers whose names are those of the recipe."""
RULES = ("growth_factor", "backoff_factor", "growth_interval")
"""Settings of scalers whose names are those of the recipe."""
NEVER = 2**31 - 1
"""A growth interval that no run reaches: of a constant scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first difference. `what` is a stable word for its kind; `update` counts from 1."""

    update: int
    what: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What rounding alone makes of a run: for every update and tensor, gradients and changes."""

    gradients: tuple[tuple[float, ...], ...] = ()
    changes: tuple[tuple[float, ...], ...] = ()
    final: tuple[float, ...] = ()
    floor: float = FLOOR

    def stable(self, updates: int) -> int:
        """Return how many updates can be judged."""
        for number, bounds in enumerate(self.changes[:updates]):
            if max(bounds, default=0.0) >= UNSTABLE:
                return number
        return updates


def updates_of(recording: Recording) -> Updates:
    """Return the special properties of a framework's updates; empty if none was recorded."""
    harness = harness_of(recording.framework)
    return (harness.updates if harness is not None else None) or Updates(modules=())


def floor_of(left: Recording, right: Recording) -> float:
    """Return the least bound for two recordings.

    Where bias of Adam's moments is corrected in float32, and in other orders by other versions, one
    minus the share that a moment keeps is rounded, by a unit in the last place of one.
    """
    if not updates_of(left).rounds_betas or left.version == right.version:
        return FLOOR
    kept = {
        share for attempt in left.updates for betas in attempt.setting("betas") for share in betas
    }
    return max((2.0**-23 / (1.0 - float(beta)) for beta in kept if beta < 1.0), default=FLOOR)


def bounds_of(original: Recording, moved: Recording, floor: float = FLOOR) -> Bounds:
    """Return bounds from a run and the same moved by rounding."""
    gradients: list[tuple[float, ...]] = []
    changes: list[tuple[float, ...]] = []
    highest: dict[str, list[float]] = {"gradients": [], "changes": []}
    for left, right in zip(original.updates, moved.updates, strict=False):
        for name, bounds in (("gradients", gradients), ("changes", changes)):
            now = deviations(getattr(left, name), getattr(right, name))
            pairs = zip_longest(highest[name], now, fillvalue=0.0)
            highest[name] = [max(a, b) for a, b in pairs]
            bounds.append(tuple(max(floor, MARGIN * deviation) for deviation in highest[name]))
    final = [
        max(floor, MARGIN * deviation) for deviation in deviations(original.final, moved.final)
    ]
    return Bounds(
        gradients=tuple(gradients), changes=tuple(changes), final=tuple(final), floor=floor
    )


def deviations(
    left: Sequence[TensorSummary | None], right: Sequence[TensorSummary | None]
) -> list[float]:
    """Return how far tensors are apart, each relative to its norm."""
    norms = [summary.norm for summary in left if summary and math.isfinite(summary.norm)]
    total = math.sqrt(sum(norm * norm for norm in norms))
    relative = []
    for summary, other in zip(left, right, strict=False):
        if summary == other or summary is None or other is None:
            relative.append(0.0 if summary == other else math.inf)
            continue
        apart = max(abs(summary.norm - other.norm), abs(summary.projection - other.projection))
        if math.isnan(apart) or math.isinf(apart):
            # Not a number on both sides is the same; the sign of an infinity is no matter.
            both = not math.isfinite(summary.norm) and not math.isfinite(other.norm)
            relative.append(0.0 if both else math.inf)
            continue
        size = summary.norm + SMALL * total
        relative.append(apart / size if size else (0.0 if apart == 0 else math.inf))
    return relative


def identical(left: Recording, right: Recording) -> bool:
    """Whether two runs recorded the same to the last bit."""
    return (
        len(left.attempts) == len(right.attempts)
        and all(_is_same_attempt(a, b) for a, b in zip(left.attempts, right.attempts, strict=True))
        and not any(deviations(left.final, right.final))
    )


def _is_same_attempt(left: RecordedAttempt, right: RecordedAttempt) -> bool:
    return (
        first_of(_pair(1, left, right, Bounds(), scaled=True)) is None
        and not any(deviations(left.gradients, right.gradients))
        and not any(deviations(left.changes, right.changes))
    )


def first_of(ordered: Iterable[Difference]) -> Difference | None:
    """Return the first of some differences."""
    return next(iter(ordered), None)


def differences(left: Recording, right: Recording, bounds: Bounds) -> Iterator[Difference]:
    """Yield the differences, the earliest update first.

    Args:
        left: the original.
        right: what became of it.
        bounds: how far tensors may be apart; without any, `FLOOR`.
    """
    scaled = left.scaled
    ours, theirs = left.attempts, right.attempts
    if not scaled:  # what the original skips cannot be seen, as with apex
        ours, theirs = merged(ours), merged(theirs)
    update = 0
    stable = bounds.stable(min(len(left.updates), len(right.updates)))
    for attempt, other in zip(ours, theirs, strict=False):
        if update >= stable and not (attempt.skipped or other.skipped):
            return
        yield from _pair(update + 1, attempt, other, bounds, scaled=scaled)
        update += not attempt.skipped
    if len(ours) != len(theirs):
        if left.enough and right.enough:  # both were ended, one with more attempts skipped
            return
        less = "migrated script" if len(theirs) < len(ours) else "original"
        many = f"{len(right.updates)} updates, the original {len(left.updates)}"
        words = f"the {less} ends here: the migrated script made {many}"
        yield Difference(update=update + 1, what="updates", words=words)
    elif left.final and right.final and stable == len(left.updates):
        words = _distance_words(
            left.final, right.final, bounds.final, "final parameters", floor=bounds.floor
        )
        if words:
            yield Difference(update=update, what="final", words=words)


def merged(attempts: Sequence[RecordedAttempt]) -> tuple[RecordedAttempt, ...]:
    """Return the updates, each with the backward passes of skipped attempts before it."""
    updates, waiting = [], 0
    for attempt in attempts:
        if attempt.skipped:
            waiting += attempt.backwards
        else:
            updates.append(replace(attempt, backwards=attempt.backwards + waiting))
            waiting = 0
    return tuple(updates)


def _pair(
    number: int, left: RecordedAttempt, right: RecordedAttempt, bounds: Bounds, *, scaled: bool
) -> Iterator[Difference]:
    def differ(what: str, words: str) -> Difference:
        return Difference(update=number, what=what, words=words)

    if left.optimizer != right.optimizer:
        yield differ("optimizer", "another optimizer makes the step")
    if scaled and left.skipped != right.skipped:
        sides = (
            ("migrated script", "original") if right.skipped else ("original", "migrated script")
        )
        yield differ("skips", f"the {sides[0]} skips it, the {sides[1]} does not")
        return
    if scaled and left.scale is not None and right.scale is None:
        yield differ("skips", "no scaler makes the step, so it cannot be skipped")
    if left.backwards != right.backwards:
        words = f"after {right.backwards} backward passes instead of {left.backwards}"
        yield differ("backwards", words)
    yield from (differ(what, words) for what, words in _told_settings(left, right))
    if scaled and left.scale != right.scale:
        yield differ("scale", f"loss scale {_number(right.scale)} instead of {_number(left.scale)}")
    yield from (differ(what, words) for what, words in _rules(left, right))
    if left.skipped and right.skipped:
        return  # what was clipped is not applied, and an unchanged tensor need not be recorded
    yield from (differ("clipping", words) for words in _clips(left, right))
    known = bounds.gradients[number - 1] if number <= len(bounds.gradients) else ()
    yield from (
        differ("norm", words) for words in _sizes(left, right, max(known, default=bounds.floor))
    )
    if [change and change.count for change in left.changes] != [
        change and change.count for change in right.changes
    ]:
        yield differ("tensors", "the optimizer has different tensors")
        return
    for what, word in (("gradients", "gradient"), ("changes", "parameter change")):
        allowed = getattr(bounds, what)
        limits = allowed[number - 1] if number <= len(allowed) else ()
        ours, theirs = getattr(left, what), getattr(right, what)
        if words := _distance_words(ours, theirs, limits, word, floor=bounds.floor):
            yield differ(what, words)


def _told_settings(left: RecordedAttempt, right: RecordedAttempt) -> Iterator[tuple[str, str]]:
    ours, theirs = left.rates, right.rates
    if len(ours) == len(theirs):
        for rate, other in zip(ours, theirs, strict=True):
            if not math.isclose(rate, other, rel_tol=1e-6):
                yield "rate", f"learning rate {_number(other)} instead of {_number(rate)}"
                break
    if left.cls != right.cls:  # settings of the same name may mean something else
        return
    for name in HYPER:
        ours, theirs = left.setting(name), right.setting(name)
        if len(ours) != len(theirs):
            continue
        for value, other in zip(ours, theirs, strict=True):
            if value != other:
                yield name, f"{name} {_number(other)} instead of {_number(value)}"
                break


def _rules(left: RecordedAttempt, right: RecordedAttempt) -> Iterator[tuple[str, str]]:
    """Yield the differences in how the scale is adjusted, if both scalers say it."""
    ours = left.rules if left.rules.get("dynamic", True) else {"growth_interval": NEVER}
    for name in RULES:
        if name in ours and name in right.rules and ours[name] != right.rules[name]:
            yield (name, f"{name} {_number(right.rules[name])} instead of {_number(ours[name])}")


def _clips(left: RecordedAttempt, right: RecordedAttempt) -> Iterator[str]:
    ours = [(clip.kind, clip.limit) for clip in left.clips]
    theirs = [(clip.kind, clip.limit) for clip in right.clips]
    if ours == theirs or left.skipped:
        return
    texts = [", ".join(f"{k} {_number(v)}" for k, v in clips) or "none" for clips in (theirs, ours)]
    yield f"clipping is {texts[0]} instead of {texts[1]}"


def _sizes(left: RecordedAttempt, right: RecordedAttempt, bound: float) -> Iterator[str]:
    """Yield other sizes before the same clipping, which may hide that gradients were others."""
    for clip, other in zip(left.clips, right.clips, strict=False):
        known = math.isfinite(clip.size) and math.isfinite(other.size)
        if known and not math.isclose(clip.size, other.size, rel_tol=bound):
            sizes = f"{_number(other.size)} instead of {_number(clip.size)}"
            yield f"gradients of size {sizes} are clipped"


def _distance_words(
    left: Sequence[TensorSummary | None],
    right: Sequence[TensorSummary | None],
    limits: Sequence[float],
    what: str,
    *,
    floor: float,
) -> str:
    """Say how far tensors are apart, if it is too far."""
    if len(left) != len(right):
        return f"{len(right)} tensors instead of {len(left)} in the {what}"
    worst, where, allowed = 0.0, -1, floor
    for number, apart in enumerate(deviations(left, right)):
        limit = limits[number] if number < len(limits) else floor
        if apart > limit and apart / limit > worst / allowed:
            worst, where, allowed = apart, number, limit
    if where < 0:
        return ""
    norms = [math.hypot(*(summary.norm for summary in side if summary)) for side in (left, right)]
    off = "not finite on one side" if math.isinf(worst) else f"off by {worst:.2g}"
    words = f"{what} {off} in tensor {where + 1} (bound {allowed:.2g})"
    return f"{words}: norm {_number(norms[1])} instead of {_number(norms[0])}"


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
