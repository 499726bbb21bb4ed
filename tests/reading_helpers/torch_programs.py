"""Facts that the readers of PyTorch programs tell about texts."""

from __future__ import annotations

import textwrap
from typing import Any

from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.profile import profile_of
from crosscast_reading.lift.precedence import settle
from crosscast_reading.pysource.project import read_program
from reading_helpers.vocabulary_check import check_words

STEP = """
for inputs, labels in loader:
    loss = criterion(model(inputs), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def facts_of(reader: Any, text: str, *others: tuple[str, str], launch: Any = None) -> list[Fact]:
    """Return what a reader tells about a program, with the files it imports."""
    files = [("train.py", text), *others]
    sources = [Source(name, textwrap.dedent(body)) for name, body in files]
    program, problems = read_program(sources, launch=launch)
    assert problems == ()
    facts = list(reader.read(program))
    check_words(facts)
    return facts


def read_by(reader: Any, text: str, *others: tuple[str, str], launch: Any = None) -> dict[str, Any]:
    """Return value by field, `field of subject` where there is a subject; unknown ones are `?`."""
    facts = facts_of(reader, text, *others, launch=launch)
    found = settle(profile_of(facts))
    return {
        f"{field} of {who}" if who else field: fact.fact.value if fact.fact.known else "?"
        for (field, who), fact in found.items()
    }


def lines(facts: list[Fact], field: str) -> list[int]:
    """Return the lines at which a field is said to stand."""
    return [place.line for fact in facts if fact.field == field for place in fact.places]
