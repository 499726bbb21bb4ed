"""Findings of rules about settings, based on diagnostics of the readers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast_reading.lint.rule import Finding
from crosscast_reading.sources.subject import Subject


def reader_findings(
    subject: Subject,
    codes: Collection[str],
    severities: Mapping[str, Severity] | None = None,
    hint: str = "",
) -> Iterator[Finding]:
    """Yield a finding for every diagnostic of some codes that has a location.

    Args:
        subject: the subject of the rule.
        codes: of the readers' diagnostics (CC9xx).
        severities: code to severity, if it differs from the rule's.
        hint: used if the diagnostic has none.
    """
    for diagnostic in subject.unread:
        match diagnostic:
            case Diagnostic(code=code, span=Span() as span) if code in codes:
                yield Finding(
                    span=span,
                    message=diagnostic.message,
                    hint=diagnostic.hint or hint,
                    severity=(severities or {}).get(code),
                )
