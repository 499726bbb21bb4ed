"""CL922: settings of one run that cannot work together."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.launch._unread import reader_findings
from crosscast_reading.sources.subject import Subject

_CODES = ("CC925", "CC928", "CC929", "CC930")
"""Two precisions at once; indivisible sizes; conflict with another file; exclusive settings."""


def check(subject: Subject) -> Iterator[Finding]:
    """Report settings that readers of scripts and configurations found contradictory."""
    yield from reader_findings(subject, _CODES, hint="keep only the intended one")


RULE = Rule("CL922", check)
