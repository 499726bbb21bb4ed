"""Find which of the differing fields of two recipes make their runs differ.

The differing fields are taken back one set after another, by delta debugging, until the smallest
set is found that must be taken back for the difference to go away. A recipe in between is first
held against the records of the one side, which trains nothing; only one that they have nothing
against is trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.variations.changes import built
from crosscast.variations.companions import SECTIONS
from crosscast.variations.table import shown, shown_path
from crosscast_parity.bisect.delta_debugging import minimal
from crosscast_parity.bisect.judgement import RecordedRuns
from crosscast_parity.bisect.trials import (
    Bisection,
    By,
    Protocol,
    Trial,
    from_to,
    headline,
    title,
)
from crosscast_parity.checks.check import Check, failures

IGNORED = ("version", "name", "batch.global_batch_size", "precision.policy", "launch", "tracking")
"""The global batch size and the policy follow from the others; how processes are started and where
runs are reported changes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """One thing in which two recipes differ: a field, or a section of another kind."""

    path: str
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        return f"{shown_path(self.path)}: {shown(self.theirs)}"


def differences(ours: Recipe, theirs: Recipe) -> list[Difference]:
    """Return the differences of two recipes; sections of different kinds have only one."""
    differing: list[Difference] = []
    _walk(ours.model_dump(), theirs.model_dump(), "", differing)
    return differing


def _walk(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str, differing: list[Difference]
) -> None:
    for name in ours.keys() | theirs.keys():
        place = f"{path}.{name}" if path else name
        mine, other = ours.get(name), theirs.get(name)
        if place in IGNORED or mine == other:
            continue
        if (
            isinstance(mine, Mapping)
            and isinstance(other, Mapping)
            and not _kinds(place, mine, other)
        ):
            _walk(mine, other, place, differing)
        else:
            differing.append(Difference(place, mine, other))
    if not path:
        differing.sort(key=lambda difference: difference.path)


def _kinds(place: str, ours: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two sections are of different kinds, with other fields."""
    tags = [path.split(".")[1] for path in SECTIONS if path.startswith(f"{place}.")]
    tags += ["kind"] if place == "model" else ["source"] if place == "data" else []
    return any(ours.get(tag) != other.get(tag) for tag in tags)


def mixed(ours: Recipe, taken: Sequence[Difference]) -> Recipe | None:
    """Return our recipe with some of the other's fields; None if they do not fit together."""
    data = ours.model_dump()
    for difference in taken:
        *sections, last = difference.path.split(".")
        place: Any = data
        for section in sections:
            place = place[section]
        place[last] = difference.theirs
    batch, steps = data["batch"], data["accumulation"]["steps"]
    processes = data["distributed"]["nodes"] * data["distributed"]["processes_per_node"]
    batch["global_batch_size"] = batch["micro_batch_size"] * steps * processes
    result = built(data)
    return result[0] if result and result[1] else None


def bisect_recipes(recorded: RecordedRuns, theirs: Recipe) -> Bisection:
    """Find the fields that make the runs of two recipes differ.

    Args:
        recorded: Our recipe, the records of its runs, and `run`, which trains by another recipe and
            compares with ours.
        theirs: The other recipe.
    """
    whole = differences(recorded.recipe, theirs)
    search = _Search(recorded, whole)
    first = search.trial(whole)
    if first.failing is None:
        return Bisection(outcome="not explained", sentence="the other recipe cannot be run")
    if first.closed:
        sentence = (
            f"no check detects a difference caused by the {_fields(len(whole))} make that differ"
        )
        return Bisection(outcome="no difference", sentence=sentence, trials=search.trials)
    blamed = minimal(whole, search.gone_without)
    rest = [change for change in whole if change not in blamed]
    if rest:
        search.trial(blamed)  # how much of the difference they make alone
    sentence = _sentence(search, blamed, len(rest), first, search.trial(rest))
    return Bisection(
        outcome="explained",
        sentence=sentence,
        fields=tuple(shown_path(change.path) for change in blamed),
        changes=tuple(map(str, blamed)),
        check=title(search.protocol.headline),
        trials=search.trials,
    )


class _Search:
    def __init__(self, recorded: RecordedRuns, whole: Sequence[Difference]) -> None:
        self._recorded = recorded
        self._whole = whole
        self._tried: dict[tuple[str, ...], Trial] = {}
        self.protocol = Protocol(None)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials so far."""
        return tuple(self.protocol.trials)

    def gone_without(self, part: Sequence[Difference]) -> bool:
        """Whether the difference goes away when these fields are taken back."""
        return self.trial([change for change in self._whole if change not in part]).closed

    def trial(self, taken: Sequence[Difference]) -> Trial:
        """Return the remaining difference if our recipe takes these fields from the other one."""
        key = tuple(change.path for change in taken)
        if key not in self._tried:
            checks, by = self._checks(taken)
            if self.protocol.headline is None and checks is not None:
                self.protocol.headline = headline(checks)
            self._tried[key] = self.protocol.note(taken, by, checks)
        return self._tried[key]

    def _checks(self, taken: Sequence[Difference]) -> tuple[tuple[Check, ...] | None, By]:
        recipe = mixed(self._recorded.recipe, taken)
        if recipe is None:
            return None, "records"
        records = self._recorded.compared_with(recipe)
        if not taken or any(failures(records)) or self._recorded.run is None:
            return records, "records"
        checks = self._recorded.run(recipe)
        return (None if checks is None else (*records, *checks)), "run"


def _fields(count: int) -> str:
    return "one field" if count == 1 else f"{count} fields"


def _sentence(
    search: _Search, blamed: Sequence[Difference], others: int, first: Trial, last: Trial
) -> str:
    changes = (f"{shown_path(o.path)} ({shown(o.ours)} -> {shown(o.theirs)})" for o in blamed)
    sentence = f"{' and '.join(changes)} explains the difference: "
    sentence += from_to(search.protocol.headline, first, last)
    if others:
        sentence += f"; {_fields(others)} more that differ cause no difference that a check detects"
    return sentence
