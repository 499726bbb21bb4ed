"""How diagnostics are shown, sorted, collected and turned into exit codes."""

from __future__ import annotations

import json
import re

import pytest

from crosscast.messages import console
from crosscast.messages.codes import CODES
from crosscast.messages.console import exit_code, print_json, print_screen
from crosscast.messages.diagnostics import (
    Collector,
    Diagnostic,
    DiagnosticError,
    Severity,
    Span,
    render,
    sort_key,
)
from crosscast.messages.screens import Table, head


def note(code: str = "CC301") -> Diagnostic:
    return Diagnostic(code=code, message="m", severity=Severity.NOTE)


def test_the_text_form() -> None:
    diagnostic = Diagnostic(
        code="CC104",
        message="must be 1, got 2",
        path="a.b",
        span=Span("r.yaml", 3, 7, 8, "  b:  2  # two"),
        hint="did you mean 1?",
    )
    assert render([diagnostic]) == (
        "r.yaml:3:7: error CC104: a.b: must be 1, got 2\n"
        "      b:  2  # two\n"
        "          ^\n"
        "  Hint: did you mean 1?"
    )
    assert render([note()]) == "note CC301: m"
    assert render([]) == ""


@pytest.mark.parametrize(
    ("column", "end", "marks"),
    [(1, 4, "^^^"), (2, None, " ^"), (1, 99, "^^^^^"), (5, 5, "    ^"), (6, None, "     ^")],
)
def test_the_underline(column: int, end: int | None, marks: str) -> None:
    span = Span("f", 1, column, end, "abcde")
    assert (
        render([Diagnostic(code="CC006", message="m", span=span)]).splitlines()[2] == f"    {marks}"
    )


def test_tabs_are_shown_as_the_columns_that_they_count() -> None:
    span = Span("f", 1, 3, 6, "\t\tabc\t= 1")
    text, marks = render([Diagnostic(code="CC006", message="m\tn", span=span)]).splitlines()[1:]
    assert (text, marks) == ("      abc = 1", "      ^^^")


def test_very_long_lines_are_cut_around_the_mark() -> None:
    span = Span("f", 1, 5001, 5004, "x" * 5000 + "abc" + "y" * 5000)
    text, marks = render([Diagnostic(code="CC006", message="m", span=span)]).splitlines()[1:]
    assert len(text) <= 164
    start = marks.index("^")
    assert text[start : start + marks.count("^")] == "abc"


def test_nothing_steers_a_terminal() -> None:
    hostile = "\x1b[31m\x00\x9b\u202e\r\ud800"
    diagnostic = Diagnostic(
        code="CC101",
        message=hostile,
        path=hostile,
        span=Span(hostile, 1, 1, None, hostile),
        hint=hostile,
    )
    assert all(c.isprintable() or c == "\n" for c in render([diagnostic]))


def test_sorted_by_file_place_and_code() -> None:
    places = [("b", 1, 1), ("a", 10, 1), ("a", 2, 3), ("a", 2, 1)]
    found = [Diagnostic(code="CC104", message="", span=Span(*place)) for place in places]
    found += [note("CC302"), note("CC301")]
    shown = [str(diagnostic.span or diagnostic.code) for diagnostic in sorted(found, key=sort_key)]
    assert shown == ["CC301", "CC302", "a:2:1", "a:2:3", "a:10:1", "b:1:1"]


def test_collecting() -> None:
    collect = Collector()
    collect.add(note())
    collect.raise_errors()
    collect.add(Diagnostic(code="CC104", message="bad"))
    with pytest.raises(DiagnosticError, match="error CC104: bad\nnote CC301: m") as caught:
        collect.raise_errors()
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC301", "CC104"]


def test_json_has_everything() -> None:
    diagnostic = Diagnostic(
        code="CC104", message="m", path="p", span=Span("f", 1, 2, 3, "t"), hint="h"
    )
    assert json.loads(json.dumps(diagnostic.to_json())) == {
        "code": "CC104",
        "message": "m",
        "severity": "error",
        "path": "p",
        "span": {"file": "f", "line": 1, "column": 2, "end_column": 3, "text": "t"},
        "hint": "h",
    }


def error(code: str, path: str = "") -> Diagnostic:
    return Diagnostic(code=code, message="m", path=path)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([], 0),
        ([note()], 0),
        ([Diagnostic(code="CC311", message="m", severity=Severity.WARNING)], 0),
        ([error("CC104", "seed")], 1),
        ([error("CC006")], 1),
        ([error("CC107")], 1),
        ([error("CC001")], 2),
        ([error("CC002")], 2),
        ([error("CC003")], 2),
        ([error("CC106")], 2),
        ([error("CC106", "overrides.x")], 1),
        ([error("CC501")], 2),
        ([error("CC503")], 2),
        ([error("CC401")], 3),
        ([error("CC104"), error("CC501"), error("CC401")], 3),
        ([error("CC104"), error("CC001")], 2),
        ([Diagnostic(code="CC401", message="m", severity=Severity.NOTE)], 0),
    ],
)
def test_exit_codes(found: list[Diagnostic], code: int) -> None:
    assert exit_code(found) == code


def test_invalid_options_are_usage_errors() -> None:
    """README promises exit code 2 for usage errors of every command."""
    about_options = [
        diagnostic.code
        for diagnostic in CODES.values()
        if re.fullmatch("invalid .* option", diagnostic.title)
    ]
    assert {"CC463", "CC707", "CC728", "CC748", "CC919", "CC951", "CC969"} <= set(about_options)
    for code in (*about_options, "CC108", "CC601", "CC705", "CC710", "CC730"):
        assert exit_code([Diagnostic(code=code, message="m")]) == 2, code
    in_the_recipe = Diagnostic(code="CC108", message="m", path="overrides")
    assert exit_code([in_the_recipe]) == 1


def test_exit_codes_follow_the_ranges() -> None:
    """Codes about written files are usage errors, those about this machine say what is missing."""
    for code in CODES.values():
        assert (code.exit == 3) == code.code.startswith("CC40"), code.code
        assert code.exit == 2 or not code.code.startswith("CC5"), code.code


def test_json_is_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "é\ud800\u2028"})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == {"a": "é\ud800\u2028"}


def test_a_screen_in_a_pipe_is_aligned_text(capsys: pytest.CaptureFixture[str]) -> None:
    first = head("a", "b", "c")
    lines = "Looked at: a\nVerdict:   b\nNext:      c\n"
    print_screen(first, [Table(["a", "long name"], [["1", "x"], ["[red]", ""]]), "more"])
    assert capsys.readouterr().out == f"{lines}\na      long name\n1      x\n[red]\n\nmore\n"
    print_screen(first, [Table(["a", "b"], [])])
    assert capsys.readouterr().out == f"{lines}\na  b\n"


def test_tables_on_a_terminal_do_not_interpret_cells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_screen(head("[red]a[/red]", "", ""), [Table(["a"], [["[red]x[/red]"]])])
    printed = capsys.readouterr().out
    assert "[red]x[/red]" in printed
    assert "[red]a[/red]" in printed


def test_messages_are_wrapped_on_a_terminal_and_source_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    source = "x = " + "1 + " * 20 + "1"
    message = "a message that is longer than the lines of this terminal"
    found = [Diagnostic(code="CC104", message=message, span=Span("f", 1, 1, 2, source), hint="h")]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    console.print_diagnostics(found)
    *lines, code, mark, hint = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines).split()) == f"f:1:1: error CC104: {message}"
    assert (code, mark, hint) == (f"    {source}", "    ^", "  Hint: h")


def test_colour_changes_no_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Diagnostic(code="CC104", message="[bold]x[/bold]", span=Span("f", 1, 1, 2, "abc"))]
    console.print_diagnostics(found)
    plain = capsys.readouterr().err
    assert plain == render(found) + "\n"
    monkeypatch.setattr(console, "wants_colour", lambda: True)
    console.print_diagnostics(found)
    assert capsys.readouterr().err == plain  # rich itself drops the styles: stderr is no terminal


def test_no_colour_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert console.wants_colour()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not console.wants_colour()
