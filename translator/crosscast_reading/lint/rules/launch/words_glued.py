"""CL923: a line continuation that joins two words of a command."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.launch._unread import reader_findings
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Report words that the reader of shell scripts found joined."""
    yield from reader_findings(subject, ("CC931",))


RULE = Rule("CL923", check, hints=("\\",))
