"""What tests of lint share: rules of their own, and running the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from typer.testing import CliRunner, Result

from crosscast.cli import app
from crosscast.messages.diagnostics import Severity, Span
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.text_edits import lines_of
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def find_bad(subject: Subject) -> Iterator[Finding]:
    """Find the word BAD; the repair is GOOD."""
    for source in subject.sources:
        for number, line in enumerate(lines_of(source.text), 1):
            column = line.find("BAD") + 1
            if column:
                span = Span(source.name, number, column, column + 3, line)
                edit = Edit(
                    file=source.name,
                    line=number,
                    column=column,
                    end_line=number,
                    end_column=column + 3,
                    text="GOOD",
                )
                yield Finding(span=span, message="this is bad", hint="be good", edits=(edit,))


def make_rule(check: Callable[[Subject], Any], code: str = "CL001", **changes: Any) -> Rule:
    values: dict[str, Any] = {
        "code": code,
        "name": f"rule-{code.lower()}",
        "topic": "outdated",
        "severity": Severity.WARNING,
        "title": "A rule of the tests",
        "why": "Because.",
        "wrong": "BAD\n",
        "right": "GOOD\n",
        "needs_training": False,
        "check": check,
        "fixable": True,
    }
    return Rule(**(values | changes))


def run(*arguments: str, input: str | bytes | None = None) -> Result:
    """Run `crosscast lint` in this process; anything but a clean exit is an error of the test."""
    result = CliRunner().invoke(app, ["lint", *arguments], input=input, prog_name="crosscast")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output
    assert "\x1b[" not in result.output
    assert "CC950" not in result.output
    return result
