"""CL908: a training program that does not parse."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.prefilter import trains_by_words
from crosscast_reading.sources.subject import Subject

_CODES = ("CC901", "CC902", "CC905")
"""Not Python, Python 2, an unresolved merge."""
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def check(subject: Subject) -> Iterator[Finding]:
    """Find the files that cannot be parsed and have the words of a training loop."""
    texts = {source.name: source.text for source in subject.sources}
    for diagnostic in subject.unread:
        span = diagnostic.span
        if span is None or diagnostic.code not in _CODES:
            continue
        if not trains_by_words(texts.get(span.file, "")):
            continue
        old = diagnostic.code == "CC902"
        reason = diagnostic.message.partition(": ")[2]
        message = f"this does not parse as Python {_PYTHON}: {reason}"
        if diagnostic.code == "CC905":
            message = "a merge conflict was left in the file: it does not parse"
        yield Finding(
            span=span,
            message="this is Python 2" if old else message,
            hint="other rules cannot check this file until it parses",
            severity=Severity.WARNING if old else None,
        )


RULE = Rule("CL908", check, needs_training=False)
