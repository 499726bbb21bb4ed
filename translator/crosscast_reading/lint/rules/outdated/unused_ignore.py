"""CL990: an unused ignore comment, reported by the engine itself."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterable[Finding]:
    """Yield nothing: the uses of a comment are known only after all rules."""
    return ()


RULE = Rule("CL990", check)
