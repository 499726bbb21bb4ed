"""Progress: shown on a terminal after a moment, with the time left, and never elsewhere."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.cli.progress import PATIENCE, progress_bar, waiting
from crosscast.messages.time_left import TimeLeft, duration


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, name: str = "stderr") -> Iterator[list[str]]:
    """Put a pseudo-terminal in place of a stream; what it showed is in the list afterwards."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    shown: list[str] = []
    with os.fdopen(slave, "w") as stream:
        monkeypatch.setattr(sys, name, stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "80")
        yield shown
        stream.flush()
        os.set_blocking(master, False)
        found = b""
        with suppress(BlockingIOError):
            while part := os.read(master, 1 << 16):
                found += part
        shown.append(found.decode())
    os.close(master)


def test_the_time_left_follows_from_what_is_done() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    assert left.words(0, 10) == ""
    clock.now += 30
    assert left.seconds(0, 10) is None
    assert left.seconds(1, 0) is None
    assert left.seconds(3, 10) == pytest.approx(70)
    assert left.words(3, 10) == "about 70 s left"
    assert left.words(10, 10) == left.words(11, 10) == ""
    assert left.elapsed == 30


def test_preparations_are_not_part_of_the_speed() -> None:
    clock = Clock()
    left = TimeLeft(clock, prepares=True)
    clock.now += 1000
    assert left.words(1, 11) == ""
    clock.now += 2
    assert left.words(3, 11) == "about 8 s left"


def test_durations() -> None:
    assert [duration(seconds) for seconds in (3.2, 89, 90, 600, 5400, 9000)] == [
        *("3 s", "89 s", "2 min", "10 min", "1.5 h", "2.5 h")
    ]


def test_a_bar_appears_after_a_moment_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    with terminal(monkeypatch) as shown, progress_bar("checking", clock) as progress:
        clock.now += PATIENCE / 2
        progress(1, 10)
        clock.now += 10
        progress(3, 10)
        clock.now += 0.01
        progress(4, 10)  # too soon to be drawn
        clock.now += 9.99
        progress(5, 10)
    text = shown[0]
    assert "checking" in text
    assert "1/10" not in text
    assert "4/10" not in text
    assert "3/10" in text
    assert "about 35 s left" in text
    assert "5/10" in text
    assert "about 25 s left" in text


def test_what_is_soon_done_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    with terminal(monkeypatch) as shown, progress_bar("checking", clock) as progress:
        for done in range(50):
            clock.now += 0.01
            progress(done, 50)
    assert shown == [""]


def test_waiting_says_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as shown, waiting("reading") as now:
        now("running the script")
    assert "running the script" in shown[0]
    with terminal(monkeypatch) as shown, waiting("") as now:
        now("running the script")
    assert shown == [""]


@pytest.mark.parametrize("what", ["reading", ""])
def test_nothing_is_shown_when_piped(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    stream, clock = io.StringIO(), Clock()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar(what, clock) as progress, waiting(what) as now:
        clock.now += 100
        progress(1, 10)
        now("running")
    assert stream.getvalue() == ""


def test_json_is_free_of_progress(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n")
    result = CliRunner().invoke(app, ["lint", str(tmp_path), "--format", "json"])
    assert result.stdout.startswith(("{", "["))
    assert "\x1b" not in result.output


def test_parity_says_the_time_left_in_lines_and_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from crosscast_parity.processes.process import Outcome
    from crosscast_parity.processes.work_done import Progress
    from crosscast_parity.report import progress as report

    clock = Clock()
    monkeypatch.setattr(report, "TimeLeft", lambda: TimeLeft(clock))
    outcome = Outcome(kind="finished", seconds=30.0)
    events = [
        Progress("started", "torch", None, 0.0, 4.0),
        Progress("ended", "torch", outcome, 1.0, 4.0),
    ]
    stream = io.StringIO()
    with report.progress_on(stream) as on_progress:
        for event in events:
            on_progress(event)
            clock.now += 30
    assert stream.getvalue() == "torch: finished after 30.0 s (25% done, about 2 min left)\n"
    clock.now = 0.0
    with terminal(monkeypatch) as shown, report.progress_on(sys.stderr) as on_progress:
        clock.now = 30.0
        for event in events:
            on_progress(event)
    assert "about 2 min left" in shown[0]
