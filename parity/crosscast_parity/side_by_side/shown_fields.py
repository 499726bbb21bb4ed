"""Which fields of a recipe a pair of runs shows to be the same, and by what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crosscast_parity.side_by_side.comparison import HYPER, RULES
from crosscast_parity.side_by_side.recording import RecordedAttempt, Recording

FIELD_OF = {
    "rate": "optimizer.learning_rate",
    "backwards": "accumulation.steps",
    "clipping": "clipping.kind",
    "scale": "loss_scaling.init_scale",
    "skips": "loss_scaling.mode",
}
FIELD_OF |= {name: f"optimizer.{name}" for name in HYPER}
FIELD_OF |= {name: f"loss_scaling.{name}" for name in RULES}
"""What a difference is about, as a field of the recipe, where one field says it."""
LIMIT_OF = {"global_norm": "clipping.max_norm", "value": "clipping.max_value"}


def shown(left: Recording, right: Recording, updates: int) -> dict[str, str]:
    """Return the fields that runs without a difference show, with what shows them.

    Only what would have been another recording with another value in the field. That both
    optimizers were told the same number counts, as what they made of it agrees.

    Args:
        left: the original.
        right: what became of it.
        updates: how many of their updates were compared.
    """
    ours, theirs = left.updates[:updates], right.updates[:updates]
    return dict(_shown(left, right, ours, theirs)) if ours else {}


def _shown(
    left: Recording,
    right: Recording,
    ours: Sequence[RecordedAttempt],
    theirs: Sequence[RecordedAttempt],
) -> Iterator[tuple[str, str]]:
    many = f"in {len(ours)} update{'s' * (len(ours) != 1)}"
    rates = sorted({rate for attempt in ours for rate in attempt.rates})
    if rates and all(len(a.rates) == len(b.rates) for a, b in zip(ours, theirs, strict=True)):
        span = f"{rates[0]:g}" if len(rates) == 1 else f"{rates[0]:g} to {rates[-1]:g}"
        yield "optimizer.learning_rate", f"{span} on both sides {many}"
        if len({attempt.rates for attempt in ours if attempt.optimizer == ours[0].optimizer}) > 1:
            yield "schedule.name", f"the same rates on both sides, {span}, {many}"
    names = {attempt.cls for attempt in (*ours, *theirs)}
    if len(ours) > 1:
        yield "optimizer.name", f"{' and '.join(sorted(names))}: the same changes {many}"
        if len(names) == 1:
            yield from _hyper(ours, theirs)
    if passes := {attempt.backwards for attempt in ours}:
        text = ", ".join(map(str, sorted(passes)))
        plural = "es" * (passes != {1})
        yield "accumulation.steps", f"{text} backward pass{plural} before an update on both sides"
    yield from _clipping(ours, theirs)
    if left.scaled and right.scaled:
        first = next(attempt.scale for attempt in left.attempts if attempt.scale is not None)
        yield "loss_scaling.init_scale", f"{first:g} at the first update on both sides"
        for step in ("step scale", "step unscale"):
            yield step, f"the same gradients under a loss scale of {first:g}"
    half = {"float16", "bfloat16"} & left.types
    if half and left.types == right.types:
        text = " and ".join(sorted(half))
        yield "precision.compute_dtype", f"modules compute in {text} on both sides"
    for step in ("step backward", "step step", "step zero"):
        yield step, f"the same gradients and changes {many}"


def _hyper(
    ours: Sequence[RecordedAttempt], theirs: Sequence[RecordedAttempt]
) -> Iterator[tuple[str, str]]:
    for name in HYPER:
        values = {attempt.setting(name) for attempt in (*ours, *theirs)}
        if len(values) == 1 and (settings := values.pop()):
            first = settings[0]
            if all(value == first for value in settings):
                yield f"optimizer.{name}", f"both optimizers received {_value_text(first)}"


def _value_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_value_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _clipping(
    ours: Sequence[RecordedAttempt], theirs: Sequence[RecordedAttempt]
) -> Iterator[tuple[str, str]]:
    """Yield the limit of clipping if every update was clipped by it, and it changed some."""
    calls = [attempt.clips for attempt in (*ours, *theirs)]
    if not all(len(clips) == 1 for clips in calls):
        return
    kinds = {(clips[0].kind, clips[0].limit) for clips in calls}
    cut = sum(attempt.clips[0].size > attempt.clips[0].limit for attempt in ours)
    if len(kinds) == 1 and cut:
        kind, limit = kinds.pop()
        why = f"{kind} {limit:g} on both sides; it cut {cut} of {len(ours)} updates"
        yield "clipping.kind", why
        yield "step clip", why
        if kind in LIMIT_OF:
            yield LIMIT_OF[kind], why


def shown_by_overflow(left: Recording, right: Recording) -> dict[str, str]:
    """Return the fields that a pair of runs with an overflow shows to be the same."""
    number = next((n for n, attempt in enumerate(left.attempts) if attempt.skipped), -1)
    if number < 0:
        return {}
    fields = dict.fromkeys(
        ("loss_scaling.mode", "step check_finite"),
        "both skip the update with overflowing gradients",
    )
    following = [side.attempts[number + 1 :] for side in (left, right)]
    if all(following) and following[0][0].scale == following[1][0].scale:
        before, after = left.attempts[number].scale, following[0][0].scale
        why = f"the scale falls from {before:g} to {after:g} on both sides"
        fields |= {"loss_scaling.backoff_factor": why, "step update_scale": why}
    return fields
