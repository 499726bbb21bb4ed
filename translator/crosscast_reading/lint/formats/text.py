"""The report as text: location, code, message, underlined line, hint."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.messages.diagnostics import Severity, render_one
from crosscast.messages.language import WORDINGS, Language
from crosscast_reading.lint.result import Result, order


def text(results: Sequence[Result], language: Language = "en") -> str:
    """Return the findings as text; empty if there are none."""
    explained: set[str] = set()
    ordered = sorted(results, key=order)
    return "".join(f"{_render_result(result, language, explained)}\n" for result in ordered)


def _render_result(result: Result, language: Language, explained: set[str]) -> str:
    words = WORDINGS[language]
    rendered = render_one(result.diagnostic(), language, explained)
    related = [f"  {words.see_also}: {span}" for span in result.related]
    fixable = [f"  {words.fix}"] if result.edits else []
    return "\n".join([rendered, *related, *fixable])


def summary(results: Sequence[Result], files: int) -> str:
    """Return the last line: the number of findings by severity and the number of files."""
    findings = [result for result in results if result.is_finding]
    if not findings:
        if not files:
            return "No file with training found."
        return f"No findings in {_count(files, 'file')} with training."
    kinds = [
        _count(number, str(severity))
        for severity in Severity
        if (number := sum(1 for finding in findings if finding.severity is severity))
    ]
    places = len({finding.file for finding in findings})
    line = f"Found {_count(len(findings), 'finding')} ({', '.join(kinds)})"
    line += f" in {places} of {_count(files, 'file')} with training."
    fixable = sum(1 for finding in findings if finding.edits)
    return f"{line} --fix fixes {fixable}." if fixable else line


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
