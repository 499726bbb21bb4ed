"""Runs of users' scripts: every way to end is reported, no files are left behind or changed."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.processes import process
from crosscast_parity.side_by_side import running
from crosscast_parity.side_by_side.running import Limits, Program, Ran, run, size_of
from ended_processes import gone


def program(folder: Path, text: str, *arguments: str, **more: Any) -> Program:
    (folder / "train.py").write_text("raise SystemExit('not the text that is to run')\n")
    given = {
        "framework": "torch",
        "python": sys.executable,
        "folder": folder,
        "script": "train.py",
        "arguments": arguments,
        "texts": {"train.py": text.encode()},
    }
    return Program(**{**given, **more})


def ran(folder: Path, text: str, *arguments: str, limits: Limits | None = None) -> Ran:
    return run(program(folder, text, *arguments), limits or Limits(seconds=60.0))


def test_a_script_runs_as_the_program_it_is(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("7")
    text = """\
import json, os, random, sys
print(json.dumps([__name__, sys.argv[1:], open("rows.txt").read(), sys.path[0] == os.getcwd()]))
print(os.path.basename(sys.argv[0]), os.path.basename(__file__), random.random())
raise SystemExit("told")
"""
    found = ran(tmp_path, text, "--steps", "a b")
    assert found.problem == "it ended with exit code 1: told"
    text += "\n"
    outcomes = [ran(tmp_path, text.replace('"told"', "str(random.random())")) for _ in range(2)]
    assert outcomes[0].problem == outcomes[1].problem  # seeded alike
    assert outcomes[0].problem != found.problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("raise SystemExit(3)\n", "it ended with exit code 3"),
        ("1 / 0\n", "it ended with exit code 1: ZeroDivisionError: division by zero"),
        ("import os\nos.kill(os.getpid(), 9)\n", "it was ended by SIGKILL"),
        ("import os\nos._exit(0)\n", "it ended before the end of the script"),
        ("pass\n", "no optimizer made a step"),
        ("raise SystemExit\n", "no optimizer made a step"),
        ("import sys\nsys.exit(0)\n", "no optimizer made a step"),
        ("print(b'\\xff\\0' * 100)\nprint('\\033[31m')\n", "no optimizer made a step"),
        ("def\n", "it ended with exit code 1: SyntaxError: invalid syntax"),
    ],
)
def test_every_end_is_told(tmp_path: Path, text: str, problem: str) -> None:
    assert ran(tmp_path, text).problem == problem


def test_a_missing_module_is_named(tmp_path: Path) -> None:
    found = ran(tmp_path, "from apex_that_is_gone.amp import x\n")
    assert found.missing == "apex_that_is_gone"


def test_an_interpreter_that_is_not_there_is_told(tmp_path: Path) -> None:
    found = run(program(tmp_path, "pass\n", python="/nowhere/python"), Limits())
    assert found.problem == "/nowhere/python cannot be started: No such file or directory"


def test_a_script_that_hangs_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.2)  # it hears no SIGTERM
    notes = tmp_path / "told"
    notes.mkdir()
    text = f"""\
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if not os.fork():
    open({str(notes / "child")!r}, "w").write(str(os.getpid()))
while True:
    time.sleep(1)
"""
    found = ran(tmp_path, text, limits=Limits(seconds=2.0))
    assert found.problem == "it was stopped after 2 s"
    assert gone(int((notes / "child").read_text()))


def test_children_of_a_script_that_has_ended_do_not_stay(tmp_path: Path) -> None:
    notes = tmp_path / "told"
    notes.mkdir()
    text = f"""\
import os, time
if not os.fork():
    open({str(notes / "child")!r}, "w").write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists({str(notes / "child")!r}):
    time.sleep(0.01)
"""
    begun = time.monotonic()
    assert ran(tmp_path, text).problem == "no optimizer made a step"
    assert time.monotonic() - begun < 60
    assert gone(int((notes / "child").read_text()))


def test_a_flood_of_output_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MOST_PRINTED", 1 << 20)
    monkeypatch.setattr(running, "SLOW_POLL_SECONDS", 0.1)
    found = ran(tmp_path, "while True:\n    print('x' * 10000)\n")
    assert found.problem == "it was stopped after it had printed 1 MiB"


def test_a_script_that_takes_all_memory_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SLOW_POLL_SECONDS", 0.1)
    text = "import time\nheld = b'x' * (300 << 20)\ntime.sleep(60)\n"
    found = ran(tmp_path, text, limits=Limits(seconds=60.0, memory=200 << 20))
    assert found.problem == "it was stopped: it used more than 0.195312 GiB"


def test_the_users_files_stay_as_they_are(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "own"
    (folder / "src").mkdir(parents=True)
    outside.mkdir()
    (outside / "rows.txt").write_text("rows")
    (folder / "link.txt").symlink_to("../outside/rows.txt")
    (folder / "log.txt").write_text("old")
    (folder / ".git").mkdir()
    text = """\
import os
assert open("link.txt").read() == "rows"
assert not os.path.exists(".git")
open("log.txt", "w").write("new")
open("more.txt", "w").write("more")
os.remove("train.py")
"""
    before = {path.name for path in folder.iterdir()} | {"train.py"}
    assert ran(folder, text).problem == "no optimizer made a step"
    assert {path.name for path in folder.iterdir()} == before
    assert (folder / "log.txt").read_text() == "old"


def test_a_file_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "own"
    folder.mkdir()
    outside.mkdir()
    (outside / "module.py").write_text("mine = 1\n")
    (folder / "module.py").symlink_to(outside / "module.py")
    texts = {"train.py": b"import module\nassert module.yours\n", "module.py": b"yours = 1\n"}
    assert run(program(folder, "", texts=texts), Limits()).problem == "no optimizer made a step"
    assert (outside / "module.py").read_text() == "mine = 1\n"
    (folder / "linked").symlink_to(outside)
    texts = {"train.py": b"pass\n", "linked/module.py": b"yours = 1\n"}
    found = run(program(folder, "", texts=texts), Limits())
    assert "linked/module.py is reached through a symbolic link" in found.problem
    assert (outside / "module.py").read_text() == "mine = 1\n"


def test_pipes_and_dead_links_are_no_hindrance(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dead").symlink_to("nowhere")
    assert ran(tmp_path, "pass\n").problem == "no optimizer made a step"


def test_the_size_of_a_folder_is_that_of_what_is_copied(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_bytes(b"x" * 100)
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "b").write_bytes(b"x" * 100)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert size_of(tmp_path, 1000) == 100
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c").write_bytes(b"x" * 100)
    assert size_of(tmp_path, 1000) == 200
    assert size_of(tmp_path, 50) == 100  # it looks no further than it must


def test_no_variable_of_ours_and_no_gpu_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCAST_SECRET", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    text = """\
import os
assert "CROSSCAST_SECRET" not in os.environ
assert not os.environ["CUDA_VISIBLE_DEVICES"]
"""
    assert ran(tmp_path, text).problem == "no optimizer made a step"


def test_reached_lines_are_told(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    texts = {
        "train.py": b"import sub.other\nsub.other.one()\n",
        "sub/other.py": b"def one():\n    a = 1\n    return a\n\n\ndef two():\n    return 2\n",
    }
    lines = {"train.py": (2,), "sub/other.py": (2, 3, 7)}
    found = run(program(tmp_path, "", texts=texts, lines=lines), Limits())
    assert found.recording.reached == {"train.py": (2,), "sub/other.py": (2, 3)}


def test_why_no_update_was_seen_is_told(tmp_path: Path) -> None:
    """An observer says what it cannot watch in a record of its own."""
    record = '{"kind": "told", "facts": {"unseen": "it trains elsewhere"}}\n'
    text = f"""\
import json, pathlib, sys
records = json.loads(pathlib.Path(sys.orig_argv[-1]).read_text())["records"]
open(records, "a").write({record!r})
"""
    assert ran(tmp_path, text).problem == "no update was observed: it trains elsewhere"
