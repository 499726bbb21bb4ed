"""Short ways to read scripts and configurations in tests."""

from __future__ import annotations

from typing import Any

from crosscast.messages.source import Source
from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.readers.protocol import Reading, TextReader
from crosscast_reading.readers.shell.reader import READER


def shell(text: str, name: str = "run.sh") -> Reading:
    return READER.read(Source(name, text))


def command(text: str) -> Command:
    commands = shell(text).commands
    assert len(commands) == 1, [started.program for started in commands]
    return commands[0]


def flags(text: str) -> dict[str, Any]:
    """Return the values of the flags of the only command; of unknown ones `?` and the reason."""
    return {f.expression: shown(f) for f in command(text).flags}


def shown(fact: Fact) -> Any:
    return fact.value if fact.known else f"? {fact.reason}"


def told(**files: str) -> dict[str, Any]:
    """Return what is known of each field; names of files have `__` for the dot."""
    sources = [Source(name.replace("__", "."), text) for name, text in files.items()]
    return {fact.field: shown(fact) for fact in analyse(sources).subject.profile}


def value_of(reading: Reading, field: str) -> Any:
    """Return the value of the only fact of a field, None if there is none."""
    found = [fact for fact in reading.facts if fact.field == field]
    assert len(found) <= 1, found
    return shown(found[0]) if found else None


def values_of(reading: Reading, field: str) -> set[Any]:
    return {shown(fact) for fact in reading.facts if fact.field == field}


def line_of(reading: Reading, field: str) -> int:
    return next(f for f in reading.facts if f.field == field).places[0].line


def codes(reading: Reading) -> list[str]:
    return [diagnostic.code for diagnostic in reading.diagnostics]


def read(reader: TextReader, text: str, name: str) -> Reading:
    source = Source(name, text)
    assert reader.sniff(source), f"{reader.name} does not know it"
    return reader.read(source)
