"""CL522: the warm-up is longer than the whole run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.facts.fact import Fact, Layer
from crosscast_reading.facts.profile import Profile
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

_LENGTH = re.compile(r"(\d+) (steps|epochs)")
_TOTALS = {"steps": "schedule.total_steps", "epochs": "run.epochs"}
_LEAST = {"steps": 100, "epochs": 3}
"""Shorter runs only try out whether a program starts."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find warm-ups and runs whose lengths are both stated, and in the same unit."""
    warm = _only(subject.profile, "schedule.warmup")
    match = _LENGTH.fullmatch(str(warm.value)) if warm is not None else None
    if warm is None or match is None:
        return
    steps, unit = int(match[1]), match[2]
    whole = _only(subject.profile, _TOTALS[unit])
    if whole is None or not isinstance(whole.value, int | float):
        return
    if _LEAST[unit] <= whole.value < steps and _are_of_one_run(subject, warm, whole):
        yield Finding(
            span=warm.places[0],
            message=f"the warm-up takes {steps} {unit}, and the run has only {whole.value:g}: the "
            "learning rate never gets to its value",
            hint="shorten the warm-up",
            related=whole.places[:1],
        )


def _are_of_one_run(subject: Subject, *facts: Fact) -> bool:
    """Whether facts stand in one file, and in one command if it has several."""
    files = {fact.places[0].file for fact in facts}
    runs = [
        places
        for command in subject.commands
        if (places := {place for flag in command.flags for place in flag.places})
        if files & {place.file for place in places}
    ]
    if len(files) != 1 or len(runs) <= 1:
        return len(files) == 1
    return any(all(places.intersection(fact.places) for fact in facts) for places in runs)


def _only(profile: Profile, field: str) -> Fact | None:
    """Return the only statement about a field, if it rests on more than its name."""
    stated = [fact for fact in profile.all(field) if fact.layer is not Layer.LIBRARY]
    sure = [
        fact
        for fact in stated
        if fact.known and fact.places and not fact.under and fact.confidence != "guess"
    ]
    alone = len({fact.value for fact in stated}) == 1 and len(sure) == len(stated)
    return sure[0] if alone else None


RULE = Rule("CL522", check, hints=("warm",))
