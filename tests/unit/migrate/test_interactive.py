"""Changes one by one: answers decide which are made."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import migration_sources
from crosscast.cli import app, migrate_review
from crosscast.cli.migrate import migrate_command
from crosscast.messages.diagnostics import Severity, Span
from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.interactive import DECLINED, Answer, Question, Review, groups_of
from crosscast_migrate.registry import codemods_to
from crosscast_reading.edits.edit import Edit
from crosscast_reading.lint.fix import repair
from crosscast_reading.lint.result import Result

CALL = "loss = torch.cuda.amp.autocast()\n"
TEXT = "import torch\n" + 3 * CALL


def change(line: int, *more: int) -> Result:
    edits = [
        Edit(file="a.py", line=at, column=8, end_line=at, end_column=22, text="torch.amp")
        for at in (line, *more)
    ]
    span = Span("a.py", line, 8, text=CALL.strip())
    return Result(
        code="CM101", severity=Severity.NOTE, message="new", span=span, edits=tuple(edits)
    )


def look(sources: Sequence[Source]) -> list[Result]:
    lines = sources[0].text.splitlines()
    return [change(n) for n, line in enumerate(lines, 1) if "torch.cuda" in line]


class Answers:
    """Answers in turn, and what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self._answers: Iterator[Answer] = iter(answers)
        self.asked: list[Question] = []

    def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        return next(self._answers)


def reviewed(text: str, *answers: Answer) -> tuple[str, list[str], Answers]:
    """Return the new text, the messages of what is left, and what was asked."""
    ask = Answers(*answers)
    source = Source("a.py", text)
    found = migrate_in_place([source], codemods_to("torch.amp"), review=Review(ask=ask))
    left = [refusal.message for refusal in found.refusals]
    return found.texts.get("a.py", text), left, ask


def repaired(*answers: Answer) -> tuple[list[bool], int, int]:
    """Return which of three lines are new, how many were declined, and what was asked."""
    ask = Answers(*answers)
    review = Review(ask=ask)
    fixed = repair([Source("a.py", TEXT)], lambda s: review.decide(look(s), s))
    text = fixed.texts.get("a.py", TEXT)
    left = [result for result in fixed.results if result.message.startswith(DECLINED)]
    return ["torch.amp" in line for line in text.splitlines()[1:]], len(left), len(ask.asked)


def test_answers_decide_line_by_line() -> None:
    assert repaired("no", "yes", "no") == ([False, True, False], 2, 3)
    assert repaired("no", "all") == ([False, True, True], 1, 2)
    assert repaired("yes", "quit") == ([True, False, False], 2, 2)


def test_changes_that_share_an_edit_are_one_question() -> None:
    both = [change(2, 4), change(3), change(4, 2)]
    assert groups_of(both) == [(both[1],), (both[0], both[2])]
    refusal = replace(both[0], edits=())
    assert groups_of([refusal]) == []


def test_a_loop_is_one_question() -> None:
    text, _, ask = reviewed(migration_sources.APEX, "yes")
    (question,) = ask.asked
    assert "apex" not in text
    assert "-from apex import amp" in question.diff
    assert "+        scaler.update()" in question.diff
    text, left, _ = reviewed(migration_sources.APEX, "no")
    assert text == migration_sources.APEX
    assert all(message.startswith("declined: ") for message in left)


def test_words_are_read_until_one_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, ask = reviewed(migration_sources.APEX, "no")
    words = iter(["what", "", "Y"])
    assert migrate_review.ask(ask.asked[0], lambda _prompt: next(words)) == "yes"
    shown = capsys.readouterr().out
    assert shown.count("leave this place as it is") == 2
    assert "-from apex import amp" in shown

    def end(_prompt: str) -> str:
        raise EOFError

    assert migrate_review.ask(ask.asked[0], end) == "quit"


class _Terminal:
    """A stream that says that it is a terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def isatty(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(migration_sources.APEX)
    found = CliRunner().invoke(
        app, ["migrate", str(path), "--to", "torch.amp", "--interactive", "--experimental"]
    )
    assert found.exit_code == 2
    assert "CC970: --interactive needs a terminal" in found.stderr
    assert path.read_text() == migration_sources.APEX


def test_accepted_changes_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.py"
    path.write_text(migration_sources.APEX)
    monkeypatch.setattr(sys, "stdin", _Terminal(sys.stdin))
    monkeypatch.setattr(sys, "stdout", _Terminal(sys.stdout))
    monkeypatch.setenv("NO_COLOR", "1")
    words = iter(["y"])
    monkeypatch.setattr(migrate_review.ask, "__defaults__", (lambda _prompt: next(words),))
    code = migrate_command([str(path)], to=["torch.amp"], interactive=True, experimental=True)
    assert code == 1  # converted, and not run
    assert "apex" not in path.read_text()
    assert capsys.readouterr().err.startswith("Done: converted: 1 change in 1 file, written; ")


def refusal(line: int) -> Result:
    span = Span("a.py", line, 8, text=CALL.strip())
    return Result(code="CM101", severity=Severity.WARNING, message=f"left {line}", span=span)


@pytest.mark.parametrize(("words", "left"), [(["", "q"], [3]), (["", "", ""], []), ([], [2, 3])])
def test_refusals_that_were_shown_are_not_listed_again(
    words: list[str], left: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(words)

    def read(_prompt: str) -> str:
        word = next(typed, None)
        if word is None:
            raise EOFError
        return word

    refusals = [*map(refusal, (1, 2, 3)), replace(refusal(4), message=f"{DECLINED}this")]
    rest = migrate_review.show_refusals(refusals, read)
    assert [result.span.line for result in rest if result.span] == left
    shown = capsys.readouterr().out
    assert [f"left {line}" in shown for line in (1, 2, 3)] == [n not in left for n in (1, 2, 3)]
    assert DECLINED not in shown
