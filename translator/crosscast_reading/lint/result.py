"""The results of lint: findings of rules, and problems that prevented a check."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast_reading.edits.edit import Edit
from crosscast_reading.lint.rule import Finding, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A finding with its rule (code CL...), or a diagnostic (code CC...)."""

    code: str
    name: str = ""
    severity: Severity
    message: str
    span: Span | None = None
    hint: str = ""
    related: tuple[Span, ...] = ()
    edits: tuple[Edit, ...] = ()

    @property
    def is_finding(self) -> bool:
        """Whether a rule reported it; other results are about the lint run."""
        return self.code.startswith("CL")

    @property
    def file(self) -> str:
        """The file of the result; empty if there is none."""
        return self.span.file if self.span else ""

    def diagnostic(self) -> Diagnostic:
        """Return it as a diagnostic."""
        return Diagnostic(
            code=self.code,
            message=self.message,
            severity=self.severity,
            span=self.span,
            hint=self.hint,
        )


def of_finding(rule: Rule, finding: Finding) -> Result:
    """Return a finding of a rule as a result."""
    return Result(
        code=rule.code,
        name=rule.name,
        severity=finding.severity or rule.severity,
        message=finding.message,
        span=finding.span,
        hint=finding.hint,
        related=finding.related,
        edits=finding.edits,
    )


def of_diagnostic(diagnostic: Diagnostic) -> Result:
    """Return a diagnostic as a result."""
    return Result(
        code=diagnostic.code,
        severity=diagnostic.severity,
        message=diagnostic.message,
        span=diagnostic.span,
        hint=diagnostic.hint,
    )


def order(result: Result) -> tuple[str, int, int, str, str]:
    """Order results by file, location, code and message."""
    span = result.span
    if span is None:
        return ("", 0, 0, result.code, result.message)
    return (span.file, span.line, span.column, result.code, result.message)
