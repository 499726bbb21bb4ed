"""What is around every command: exit codes, and an end that leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from crosscast.cli import app, error_handling
from crosscast.state.store import write_state
from recipe_texts import text_of
from state_files import small_recipe, state_of

SCRIPT = Path(__file__).parents[2] / "examples" / "apex-o1" / "before" / "train.py"


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


BAD_PLACES = (
    "x" * 300,
    "x" * 300 + "/y",
    "a-file/y",
    "a-file/y/z",
    "a\0b",
    "/proc/none",
    "/dev/null/x",
)
WRITERS: dict[str, tuple[str, ...]] = {
    "compile": ("compile", "r.yaml", "--to", "torch", "-o"),
    "lift": ("lift", "s.py", "-o"),
    "explore": ("explore", "r.yaml", "--to", "torch", "-o"),
    "migrate": ("migrate", "s.py", "--to", "paddle", "-o"),
    "parity": ("parity", "r.yaml", "--to", "torch", "-o"),
    "sweep": ("sweep", "r.yaml", "--to", "torch", "-o"),
    "check-scaling": ("check-scaling", "r.yaml", "--to", "torch", "-o"),
    "state convert": (
        "state",
        "convert",
        "c.safetensors",
        "--from",
        "torch",
        "--to",
        "paddle",
        "-o",
    ),
    "lint": ("lint", "s.py", "-o"),
    "lint --write-baseline": ("lint", "s.py", "--write-baseline", "--baseline"),
    "init": ("init",),
    "data": ("data", "nli-synthetic", "-o"),
    "plan": ("plan", "r.yaml", "--to", "torch", "--memory", "1GiB", "-o"),
    "plan --plot": ("plan", "r.yaml", "--to", "torch", "--memory", "1GiB", "--plot"),
}
READERS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("check", "show", "explain", "lint", "lift", "plan")},
    "migrate": ("migrate", "--to", "paddle", "-o", "o"),
    "diff": ("diff", "r.yaml"),
    "explore": ("explore", "--to", "torch", "-o", "o"),
    "state show": ("state", "show"),
    "state show --recipe": ("state", "show", "c.safetensors", "--recipe"),
    "parity --reference-run": ("parity", "r.yaml", "--to", "torch", "-o", "o", "--reference-run"),
}


@pytest.mark.parametrize("name", [*WRITERS, *(f"reads: {name}" for name in READERS)])
def test_impossible_places(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text(text_of())
    Path("s.py").write_text(SCRIPT.read_text())
    Path("a-file").write_text("of the user")
    write_state(Path("c.safetensors"), state_of(small_recipe()))
    command = WRITERS.get(name) or READERS[name.removeprefix("reads: ")]
    for place in BAD_PLACES:
        result = CliRunner().invoke(app, [*command, place])
        said = (name, place, result.exit_code, result.output)
        assert isinstance(result.exception, SystemExit), said
        # 1: the stored runs of a comparison are no usage (CC714).
        assert result.exit_code in ((1, 2) if "--reference-run" in name else (2,)), said
        assert "CC" in result.stderr or "Invalid value" in result.stderr, said
    assert Path("a-file").read_text() == "of the user"


def test_a_name_in_no_encoding_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text(text_of())
    result = CliRunner().invoke(
        app, ["compile", "r.yaml", "--to", "torch", "-o", "\udcff", "--all"]
    )
    assert (result.exit_code, "\\udcff/torch/train.py" in result.stdout) == (0, True), result.output
    assert Path("\udcff/torch/train.py").exists()


def test_the_operating_system_may_refuse_at_any_time(capsys: pytest.CaptureFixture[str]) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device", "trace.jsonl")

    assert guarded_exit(full) == 2
    assert capsys.readouterr().err == "error CC504: trace.jsonl: No space left on device\n"
