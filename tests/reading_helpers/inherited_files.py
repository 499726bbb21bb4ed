"""Configurations read with those that they inherit from."""

from __future__ import annotations

from typing import Any

from crosscast.messages.source import Source
from crosscast_reading.lift.precedence import settle
from crosscast_reading.sources.subject_builder import subject_of

Files = dict[str, str]


def sources(files: Files) -> list[Source]:
    return [Source(name, text) for name, text in files.items()]


def told(files: Files) -> dict[str, Any]:
    """Return what the files say together, by field; of what is unknown `?` and the reason."""
    settled = settle(subject_of(sources(files))[0].profile)
    return {
        field: found.fact.value if found.fact.known else f"? {found.fact.reason}"
        for (field, _), found in settled.items()
    }


def places(files: Files, field: str) -> set[str]:
    """Return the files in which a field is said."""
    settled = settle(subject_of(sources(files))[0].profile)
    return {place.file for (name, _), s in settled.items() if name == field for place in s.places}
