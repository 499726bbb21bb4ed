"""What is around every command: exit codes, and an end that leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from crosscast.cli import error_handling


def guarded_exit(command: Callable[[], int | None]) -> int:
    with pytest.raises(typer.Exit) as caught:
        error_handling.guarded(command)()
    return caught.value.exit_code


def test_interruption_has_its_own_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert guarded_exit(interrupted) == 130
    assert capsys.readouterr().err == "interrupted\n"


WAITS = """
import signal, sys, tempfile, time

from crosscast.cli import error_handling

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may themselves run under nohup

def command():
    with tempfile.TemporaryDirectory() as folder:
        print(folder, flush=True)
        time.sleep(60)

try:
    error_handling.guarded(command)()
except BaseException as error:
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_command_that_is_ended_cleans_up(name: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.is_dir()
        process.send_signal(getattr(signal, name))
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (130, "interrupted\n")
    assert not folder.exists()


def test_a_command_leaves_signals_as_they_were() -> None:
    def ignored() -> int:
        return signal.getsignal(signal.SIGHUP) == signal.SIG_IGN

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        assert guarded_exit(ignored) == 1
        assert [signal.getsignal(n) for n in numbers] == [signal.SIG_DFL, signal.SIG_IGN]
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def test_returned_numbers_are_exit_codes() -> None:
    assert guarded_exit(lambda: 3) == 3
    assert guarded_exit(lambda: None) == 0
