"""Compare the recipes that are lifted of labelled files with what the files do, field by field.

An entry may have `recipe`: the true value of every field, in the form that `known_programs`
describes, with its companions; and `recipe_from_companions`: the fields that the file itself does
not show, which must be left open where it is read alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus import Entry

sys.path.append(str(Path(__file__).resolve().parents[1] / "known_programs"))

from fields import Verdict, judged

VERDICTS: tuple[Verdict, ...] = ("right", "FILL IN", "wrong", "unjudged")


def truth_of(entry: Entry, *, companions: bool) -> dict[str, Any]:
    """Return the true value of every labelled field; None for one that must be left open."""
    truth: dict[str, Any] = dict(entry.data["recipe"])
    if not companions:
        truth |= dict.fromkeys(entry.data["recipe_from_companions"])
    return truth


def recipe_verdicts(entry: Entry, *, companions: bool) -> Iterator[tuple[str, Verdict, Any, Any]]:
    """Yield field, verdict, lifted and true value; nothing where there is no recipe to lift."""
    from crosscast_reading.lift.analysis import analyse, together
    from crosscast_reading.lift.drafting import lift

    truth = truth_of(entry, companions=companions)
    lifted = lift(analyse(together(entry.sources(companions=companions))))
    if lifted.recipe is None:
        return
    for path, verdict, said in judged(lifted, truth):
        yield path, verdict, said, truth.get(path, "not labelled")
