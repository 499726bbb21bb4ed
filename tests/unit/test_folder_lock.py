"""An output folder is held by one command, and by nobody once that is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

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
        time.sleep(600)
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
