"""The executed proof of a migration in place: the original and what became of it, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from crosscast.targets.harness import SmallEpsilon
from crosscast_parity.side_by_side.back_off import as_after_updates
from crosscast_parity.side_by_side.comparison import (
    Bounds,
    Difference,
    bounds_of,
    differences,
    first_of,
    floor_of,
    identical,
    updates_of,
)
from crosscast_parity.side_by_side.on_cpu import NOTE, asked_for_gpu, kept_on_cpu, run_on_cpu
from crosscast_parity.side_by_side.places import Place, places_of, unreached
from crosscast_parity.side_by_side.recording import Recording
from crosscast_parity.side_by_side.running import (
    STOOD_IN,
    Limits,
    Program,
    Ran,
    run,
    stand_in_for,
)
from crosscast_parity.side_by_side.shown_fields import FIELD_OF, shown, shown_by_overflow

Outcome = Literal["same", "different", "cannot be verified here"]
Run = Callable[..., Ran]
OnRun = Callable[[str], None]
POISONED = 2
"""The attempt, from 0, whose gradients overflow in the runs with an overflow, if there are more."""
AFTER_POISON = 4
"""Attempts of such runs: the skipped one and one that shows the scale afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What came of the runs."""

    outcome: Outcome
    wording: str
    updates: int = 0
    """How many updates were compared."""
    exact: bool = False
    """Whether both sides agree to the last bit of what is recorded."""
    difference: Difference | None = None
    shown: Mapping[str, str] = field(default_factory=dict)
    """Fields of the recipe that the runs show to be the same, and by what."""
    differs: str = ""
    """The field of the recipe that the difference is about, if one is."""
    notes: tuple[str, ...] = ()
    """What the runs do not show."""
    hint: str = ""
    alone: int = 0
    """Updates that the migrated script makes where the original cannot be run."""


def prove(
    original: Program,
    migrated: Program,
    limits: Limits,
    *,
    on_run: OnRun = lambda name: None,
    run: Run = run,
) -> Execution:
    """Run both sides and compare them.

    Args:
        original: the script as it was.
        migrated: the script as it will be.
        limits: of every run.
        on_run: called with a name when a run begins.
        run: what runs a program.
    """

    def ran(name: str, program: Program, most: Limits = limits, **how: Any) -> Ran:
        on_run(name)
        return run(program, most, **how)

    old = ran("original", original)
    folder = stand_in_for(original.framework, old)
    if folder is not None:
        original = replace(original, stand_ins=(folder,))
        old = ran(f"original, with a stand-in for {folder.name}", original)
    kept, old = run_on_cpu(original, old, lambda program: ran("original, kept on the CPU", program))
    if old.problem:
        unable = _cannot(f"the original: {old.problem}", _hint(old, original))
        new, alone = run_on_cpu(
            migrated,
            ran("migrated", migrated),
            lambda program: ran("migrated, kept on the CPU", program),
        )
        on_cpu = kept is not original or new is not migrated
        return _said(_with_one_side(unable, alone), on_cpu=on_cpu)
    if kept is original:
        return _compared(original, migrated, old, limits, ran, folder)
    outcome = _compared(kept, kept_on_cpu(migrated), old, limits, ran, folder)
    return _said(outcome, on_cpu=True)


def _said(execution: Execution, *, on_cpu: bool) -> Execution:
    return replace(execution, notes=(*execution.notes, NOTE)) if on_cpu else execution


def _compared(
    original: Program,
    migrated: Program,
    old: Ran,
    limits: Limits,
    ran: Run,
    folder: Path | None,
) -> Execution:
    """Run the migrated script, and both sides as often as a comparison needs.

    `old`: the run of the original. `folder`: of what stands in for a package, if any.
    """
    small = small_epsilon_for(old.recording)
    if small is not None:
        original, migrated = (
            replace(side, environment={**side.environment, small.variable: "1"})
            for side in (original, migrated)
        )
        old = ran("original, with a small epsilon", original)
    again = ran("original again", original)
    if again.problem:
        return _cannot(f"the original, run again: {again.problem}")
    if not identical(old.recording, again.recording):
        return _cannot(_unsteady("original", old.recording, again.recording))
    new = ran("migrated", migrated)
    if new.problem:
        return _new_failed(new, migrated, old.recording)
    if old.recording.types != new.recording.types:
        return _cannot(
            f"the original computes in {_types(old.recording)}, the migrated script in "
            f"{_types(new.recording)}: their numbers cannot be compared",
            "--device gpu, if there is one" if original.device == "cpu" else "",
        )
    places = places_of(original.texts, migrated.texts)
    left_out = unreached(places, old.recording.reached, new.recording.reached)
    if places and len(left_out) == len(places):
        return _cannot(f"no changed line was executed: {_listed(left_out)}", "other arguments")
    floor = floor_of(old.recording, new.recording)
    bounds, exact = Bounds(floor=floor), identical(old.recording, new.recording)
    if not exact and first_of(differences(old.recording, new.recording, bounds)):
        moved = ran("original, moved by rounding", original, perturb=True)
        if not moved.problem:
            bounds = bounds_of(old.recording, moved.recording, floor)
    both = min(len(old.recording.updates), len(new.recording.updates))
    updates = bounds.stable(both)
    if not old.recording.updates:
        return _cannot("the original skips every update", "more --updates")
    if both and not updates:
        return _cannot("rounding alone changes the first update too much for a comparison")
    difference = first_of(differences(old.recording, new.recording, bounds))
    if difference:
        if _draws_otherwise(old.recording, new.recording):
            return _cannot(
                f"both sides draw random numbers, which {new.recording.version} draws otherwise "
                f"than {old.recording.version}: update {difference.update}: {difference.words}",
                "dropout and shuffling off, and weights from a file, for these runs",
            )
        twice = ran("migrated again", migrated)
        if twice.problem or not identical(new.recording, twice.recording):
            return _cannot(_unsteady("migrated script", new.recording, twice.recording))
        return _different(difference, difference.update)
    if not both:
        return _cannot("the migrated script skips every update", "more --updates")
    same = Execution(
        outcome="same",
        wording=_same_words(updates, both, len(left_out), exact=exact),
        updates=updates,
        exact=exact,
        shown=shown(old.recording, new.recording, updates),
        notes=(
            *_notes(old.recording, left_out, folder),
            *([] if small is None else [small.note]),
        ),
    )
    if not old.recording.scaled:
        return same
    at = min(POISONED, len(old.recording.attempts) - 1)
    few = replace(limits, updates=min(at + AFTER_POISON, limits.updates))
    return _with_overflow(
        same,
        bounds,
        ran("original, with an overflow", original, few, poison=at),
        lambda: ran("migrated, with an overflow", migrated, few, poison=at),
        stood_in=folder is not None,
    )


def _with_overflow(
    same: Execution, bounds: Bounds, old: Ran, make: Callable[[], Ran], *, stood_in: bool
) -> Execution:
    """Hold both sides against each other where gradients overflow once."""
    if old.problem or not any(attempt.skipped for attempt in old.recording.attempts):
        why = old.problem or "it does not skip the update"
        note = f"skipping is not verified: with an overflow injected, the original: {why}"
        return replace(same, notes=(*same.notes, note))
    new = make()
    if new.problem:
        words = f"with an overflow injected, the migrated script: {new.problem}"
        skipped = Difference(update=len(new.recording.updates) + 1, what="skips", words=words)
        return _different(skipped, same.updates)
    notes = same.notes
    left, right = old.recording, new.recording
    counted = updates_of(left).skips_counted
    if counted and left.version != right.version:
        left, right = up_to_skip(left), up_to_skip(right)
        notes = (*notes, counted)
    if stood_in:
        left, explained = as_after_updates(left, right)
        notes = (*notes, *explained)
    difference = first_of(differences(left, right, bounds))
    if difference:
        words = f"with an overflow injected, {difference.words}"
        return _different(replace(difference, words=words), same.updates)
    fields = shown_by_overflow(old.recording, new.recording)
    wording = f"{same.wording}; an injected overflow is skipped by both"
    return replace(same, wording=wording, shown={**same.shown, **fields}, notes=notes)


def up_to_skip(recording: Recording) -> Recording:
    """Return a recording up to its first skip, and of what follows the loss scale only."""
    attempts = recording.attempts
    end = next((n for n, attempt in enumerate(attempts) if attempt.skipped), len(attempts)) + 1
    after = [
        replace(attempt, settings=(), clips=(), gradients=(), changes=())
        for attempt in attempts[end : end + 1]
    ]
    return replace(recording, attempts=(*attempts[:end], *after), final=(), enough=True)


def _different(difference: Difference, updates: int) -> Execution:
    return Execution(
        outcome="different",
        wording=f"update {difference.update}: {difference.words}",
        updates=updates,
        difference=difference,
        differs=FIELD_OF.get(difference.what, ""),
    )


def _new_failed(new: Ran, migrated: Program, old: Recording) -> Execution:
    """Judge a migrated script that fails where the original does not."""
    if new.missing:
        words = f"the migrated script: {new.problem}"
        return _cannot(words, f"install {new.missing} for {migrated.python}")
    update = len(new.recording.updates) + 1
    words = f"the migrated script: {new.problem}; the original makes {len(old.updates)} updates"
    return _different(Difference(update=update, what="ended", words=words), update - 1)


def small_epsilon_for(recording: Recording) -> SmallEpsilon | None:
    """Return how a run of an old version is made comparable; None if it is already."""
    small = updates_of(recording).small_epsilon
    major = recording.version.partition(".")[0]
    if small is None or not major.isdigit() or int(major) >= small.below:
        return None
    return small if any(a.cls in small.classes for a in recording.attempts) else None


def _with_one_side(execution: Execution, new: Ran) -> Execution:
    """Add what a run of the migrated script alone shows: that it trains, with finite numbers."""
    if new.problem:
        wording = f"{execution.wording}; the migrated script: {new.problem}"
        return replace(execution, wording=wording)
    updates = new.recording.updates
    sizes = [change.norm for update in updates for change in update.changes if change]
    if not all(map(math.isfinite, sizes)):
        wording = (
            f"{execution.wording}; the migrated script alone makes weights that are not finite"
        )
        return replace(execution, wording=wording)
    many = f"{len(updates)} update{'s' * (len(updates) != 1)}"
    wording = f"{execution.wording}; the migrated script alone makes {many}"
    return replace(execution, wording=wording, alone=len(updates))


def _cannot(words: str, hint: str = "") -> Execution:
    return Execution(outcome="cannot be verified here", wording=words, hint=hint)


def _hint(old: Ran, program: Program) -> str:
    if old.missing:
        return f"--old-python names an interpreter that has {old.missing}"
    if program.device == "cpu" and asked_for_gpu(program, old):
        return "use --device gpu if there is a GPU; by default GPUs are hidden from the script"
    return ""


def _unsteady(side: str, first: Recording, second: Recording) -> str:
    difference = first_of(differences(first, second, Bounds()))
    where = f"update {difference.update}: {difference.words}" if difference else "in the last bits"
    return f"two runs of the {side} differ: {where}"


def _draws_otherwise(left: Recording, right: Recording) -> bool:
    draws = any(attempt.draws for side in (left, right) for attempt in side.attempts)
    return draws and left.version != right.version


def _types(recording: Recording) -> str:
    return " and ".join(sorted(recording.types)) or "no observed type"


def _same_words(updates: int, both: int, left_out: int, *, exact: bool) -> str:
    how = "no difference" if exact else "no difference beyond rounding"
    words = f"{updates} update{'s' * (updates != 1)} on both sides, {how}"
    if updates < both:
        words += f"; of {both - updates} more rounding alone decides"
    if left_out:
        words += f"; {left_out} change{'s were' if left_out > 1 else ' was'} not executed"
    return words


def _listed(places: Sequence[Place]) -> str:
    listed = ", ".join(f"{place.file}:{place.line}" for place in places[:5])
    return listed + ", ..." * (len(places) > 5)


def _notes(recording: Recording, left_out: Sequence[Place], folder: Path | None) -> list[str]:
    """Say what a pair of runs leaves open. `folder`: of what stands in for a package, if any."""
    notes = []
    if folder is not None:
        notes.append(STOOD_IN.format(package=folder.name))
    if left_out:
        notes.append(f"changed lines that were not executed: {_listed(left_out)}")
    if not {"float16", "bfloat16"} & recording.types:
        notes.append("both sides computed in float32: half precision was not verified")
    updates = updates_of(recording)
    notes += updates.session_notes if recording.sessions else updates.notes
    if updates.forced_scaler and recording.forced and recording.scaled:
        scaler = updates.forced_scaler
        notes.append(f"{scaler}, which is disabled without a GPU, was enabled on the CPU")
    return notes
