"""Repairs: what is written, what is left alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.messages.diagnostics import Span
from crosscast.messages.source import Source
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.text_edits import apply_edits, lines_of, overlap
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.fix import MAX_ROUNDS, choose, diff_of, repair
from crosscast_reading.lint.result import Result
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from reading_helpers.lint_runs import run

AddRule = Callable[..., Rule]
HEAD = "optimizer = 1\n"


def edit(line: int, column: int, end: int, text: str, file: str = "a.py") -> Edit:
    return Edit(file=file, line=line, column=column, end_line=line, end_column=end, text=text)


def look(sources: object) -> list[Result]:
    return lint_sources(list(sources))  # type: ignore[call-overload]


def fixed_text(text: str) -> str:
    fixed = repair([Source("a.py", text)], look)
    return fixed.texts.get("a.py", text)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_edits_keep_line_ends(newline: str) -> None:
    text = newline.join(["one", "two", "three"])
    assert apply_edits(text, [edit(2, 1, 4, "2")]) == newline.join(["one", "2", "three"])
    if newline != "\r":
        inserted = apply_edits(text, [edit(2, 1, 1, "x\n")])
        assert inserted == newline.join(["one", "x", "two", "three"])


def test_edits_at_the_ends() -> None:
    assert apply_edits("ab", [edit(1, 3, 3, "c")]) == "abc"
    assert apply_edits("", [edit(1, 1, 1, "c")]) == "c"
    assert apply_edits("a\n", [edit(2, 1, 1, "b")]) == "a\nb"
    assert apply_edits("a\fb\n", [edit(1, 3, 4, "c")]) == "a\fc\n"


def test_overlaps() -> None:
    assert overlap(edit(1, 1, 4, ""), edit(1, 3, 5, ""))
    assert overlap(edit(1, 2, 2, ""), edit(1, 2, 2, ""))
    assert overlap(edit(1, 2, 4, ""), edit(1, 2, 2, ""))
    assert not overlap(edit(1, 1, 3, ""), edit(1, 3, 5, ""))
    assert not overlap(edit(1, 1, 3, ""), edit(2, 1, 3, ""))
    assert not overlap(edit(1, 1, 3, ""), edit(1, 1, 3, "", "b.py"))


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(0, 4)), max_size=6))
def test_chosen_edits_never_overlap(places: list[tuple[int, int, int]]) -> None:
    edits = [edit(line, column, column + size, "x") for line, column, size in places]
    results = [
        Result(code="CL001", severity="warning", message="m", edits=(edit,))  # type: ignore[arg-type]
        for edit in edits
    ]
    chosen, made = choose(results, frozenset(), frozenset({"a.py"}))
    taken = chosen.get("a.py", [])
    assert len(made) >= len(taken)
    assert bool(taken) == bool(edits)
    for number, first in enumerate(taken):
        assert not any(overlap(first, other) for other in taken[number + 1 :])


def test_all_edits_of_a_finding_or_none() -> None:
    def result(*edits: Edit) -> Result:
        return Result(code="CL001", severity="warning", message="m", edits=edits)  # type: ignore[arg-type]

    first = result(edit(1, 1, 3, "x"))
    second = result(edit(1, 2, 4, "y"), edit(3, 1, 2, "z"))
    chosen, made = choose([first, second], frozenset(), frozenset({"a.py"}))
    assert chosen == {"a.py": [first.edits[0]]}
    assert made == [first]
    shared = result(edit(1, 1, 3, "x"), edit(5, 1, 2, "z"))
    assert choose([first, shared], frozenset(), frozenset({"a.py"}))[1] == [first, shared]
    outside = result(edit(1, 1, 2, "x", "other.py"))
    assert choose([outside], frozenset(), frozenset({"a.py"})) == ({}, [])


def test_repair_is_idempotent(bad: Rule) -> None:
    text = HEAD + "BAD = [BAD, BAD]  # BAD\n"
    fixed = fixed_text(text)
    assert fixed == HEAD + "GOOD = [GOOD, GOOD]  # GOOD\n"
    assert fixed_text(fixed) == fixed


def test_rounds_are_bounded(add_rule: AddRule) -> None:
    def grow(subject: Subject) -> Iterator[Finding]:
        yield Finding(span=Span("a.py", 1, 1), message="m", edits=(edit(1, 1, 1, "x"),))

    add_rule(grow)
    assert fixed_text(HEAD) == "x" * MAX_ROUNDS + HEAD


def test_a_file_that_would_not_parse_is_left_untouched(add_rule: AddRule) -> None:
    def spoil(subject: Subject) -> Iterator[Finding]:
        for source in subject.sources:
            if "(" not in source.text and source.name == "a.py":
                place = edit(1, 1, 1, "(", source.name)
                yield Finding(span=Span("a.py", 1, 1), message="m", edits=(place,))

    add_rule(spoil)
    fixed = repair([Source("a.py", HEAD), Source("b.py", HEAD)], look)
    assert fixed.texts == {}
    assert [problem.code for problem in fixed.problems] == ["CC953"]
    assert [result.code for result in fixed.results] == ["CL001"]


def test_notebooks_are_not_repaired(bad: Rule) -> None:
    assert repair([Source("a.ipynb", '"optimizer BAD"')], look).texts == {}


def test_diff_ends_without_a_newline() -> None:
    text = diff_of(Source("a.py", "a\nb"), "a\nc")
    assert text.splitlines() == [
        "--- a/a.py",
        "+++ b/a.py",
        "@@ -1,2 +1,2 @@",
        " a",
        "-b",
        "\\ No newline at end of file",
        "+c",
        "\\ No newline at end of file",
    ]
    assert lines_of("a\r\nb\rc\n") == ["a", "b", "c", ""]


# on files


def test_files_are_replaced(bad: Rule, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfoptimizer = 1\r\nBAD = '\xc3\xa9'\r\n")
    path.chmod(0o755)
    link = tmp_path / "link.py"
    link.symlink_to(path)
    result = run(str(link), "--fix")
    assert result.exit_code == 0
    assert path.read_bytes() == b"\xef\xbb\xbfoptimizer = 1\r\nGOOD = '\xc3\xa9'\r\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert link.is_symlink()
    assert sorted(place.name for place in tmp_path.iterdir()) == ["a.py", "link.py"]
    assert "Fixed 1 finding." in result.stderr


def test_declared_encodings_are_kept(bad: Rule, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# -*- coding: latin-1 -*-\noptimizer = BAD = '\xe9'\n")
    assert run(str(path), "--fix").exit_code == 0
    assert path.read_bytes() == b"# -*- coding: latin-1 -*-\noptimizer = GOOD = '\xe9'\n"


def test_read_only_files_are_a_diagnostic(bad: Rule, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(HEAD + "BAD = 1\n")
    path.chmod(0o444)
    result = run(str(path), "--fix")
    assert result.exit_code == 2
    assert "CC502" in result.stderr
    assert "read-only" in result.stderr
    assert path.read_text() == HEAD + "BAD = 1\n"


@pytest.mark.parametrize("refused", ["tempfile.mkstemp", "pathlib.Path.replace"])
def test_what_the_system_refuses_is_a_diagnostic(
    bad: Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """The superuser may write anywhere, so the refusal is put in its place."""
    path = tmp_path / "a.py"
    path.write_text(HEAD + "BAD = 1\n")

    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(refused, refuse)
    result = run(str(path), "--fix")
    assert result.exit_code == 2
    assert "CC502" in result.stderr
    assert path.read_text() == HEAD + "BAD = 1\n"
    assert [place.name for place in tmp_path.iterdir()] == ["a.py"]


def test_diff_writes_nothing(bad: Rule, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(HEAD + "BAD = 1\n")
    result = run(str(path), "--diff")
    assert result.exit_code == 1
    assert "-BAD = 1\n+GOOD = 1\n" in result.stdout
    assert path.read_text() == HEAD + "BAD = 1\n"
    path.write_text(HEAD)
    result = run(str(path), "--diff")
    assert (result.exit_code, result.stdout) == (0, "")


def test_stdin_is_repaired_to_stdout(bad: Rule) -> None:
    result = run("-", "--fix", "--stdin-name", "x.py", input=HEAD + "BAD = 1\n")
    assert (result.exit_code, result.stdout) == (0, HEAD + "GOOD = 1\n")
    result = run("-", "--fix", "--stdin-name", "x.py", input=HEAD)
    assert (result.exit_code, result.stdout) == (0, HEAD)
