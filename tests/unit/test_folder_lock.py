"""An output folder is held by one command, and by nobody once that is gone."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.folder_lock import hold_folder
from sweep_fakes import write_recipe

HOLD = """
import os, sys, time
from pathlib import Path
from crosscast.messages.folder_lock import hold_folder

with hold_folder(Path(sys.argv[1]), denied="CC502"):
    if not os.fork():
        print("held", flush=True)
    time.sleep(600)
"""


def refused(folder: Path, process: int) -> None:
    with pytest.raises(DiagnosticError) as caught, hold_folder(folder, denied="CC502"):
        pass
    (found,) = caught.value.diagnostics
    assert (found.code, bool(found.hint)) == ("CC505", True)
    assert f"{folder} is in use by process {process} of " in found.message


def test_a_killed_holder_blocks_nobody_although_its_child_lives(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, start_new_session=True
    ) as holder:
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == b"held\n"
            refused(folder, holder.pid)
            os.kill(holder.pid, signal.SIGKILL)
            os.waitpid(holder.pid, 0)
            with hold_folder(folder, denied="CC502"):
                refused(folder, os.getpid())
        finally:
            os.killpg(holder.pid, signal.SIGKILL)


def test_a_folder_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError) as caught, hold_folder(tmp_path / "file", denied="CC708"):
        pass
    assert caught.value.diagnostics[0].code == "CC708"


@pytest.mark.parametrize("command", ["parity", "sweep"])
def test_commands_refuse_a_folder_in_use_before_they_write(command: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with hold_folder(folder, denied="CC502"):
        line = [command, write_recipe(tmp_path), "--to", "torch,paddle", "-o", str(folder)]
        done = CliRunner().invoke(app, line)
        assert done.exit_code == 2, done.output
        assert f"CC505: {folder} is in use by process {os.getpid()} of " in done.stderr
        assert [path.name for path in folder.iterdir()] == ["lock"]


def fail_in(folder: Path, made: str = "") -> None:
    """Hold a folder, make a folder in it, and fail."""
    with hold_folder(folder, denied="CC708"):
        if made:
            (folder / made).mkdir()
        raise ValueError


def test_a_command_that_fails_first_leaves_no_new_folder(tmp_path: Path) -> None:
    new, kept, used = tmp_path / "new", tmp_path / "kept", tmp_path / "used"
    kept.mkdir()
    for folder, made in ((new, ""), (kept, ""), (used, "runs")):
        with pytest.raises(ValueError):  # noqa: PT011
            fail_in(folder, made)
    assert not new.exists()
    assert [path.name for path in kept.iterdir()] == ["lock"]  # the folder was there before
    assert (used / "runs").is_dir()


def test_a_lock_that_was_removed_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, a command that fails may remove the file."""
    lock = fcntl.flock
    taken: list[int] = []

    def late(file: Any, how: int) -> None:
        if not taken:
            (tmp_path / "lock").unlink()
        taken.append(how)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with hold_folder(tmp_path, denied="CC708"):
        assert len(taken) == 2
        assert (tmp_path / "lock").read_text().startswith("process ")


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("step", ["open", "truncate", "write"])
def test_a_full_disk_is_one_message_and_leaves_no_new_folder(
    step: str, made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    if made:
        folder.mkdir()
    real = Path.open

    class Full:
        """A file on a full disk."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def __getattr__(self, name: str) -> Any:
            return no_space if name == step else getattr(self.file, name)

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *reason: Any) -> None:
            self.file.close()

    def no_space(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def opened(path: Path, *arguments: Any, **options: Any) -> Any:
        if step == "open":
            no_space()
        return Full(real(path, *arguments, **options))

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(DiagnosticError) as caught, hold_folder(folder, denied="CC502"):
        pytest.fail("it is held")
    (found,) = caught.value.diagnostics
    assert (found.code, "No space left on device" in found.message) == ("CC502", True)
    assert folder.exists() is made
