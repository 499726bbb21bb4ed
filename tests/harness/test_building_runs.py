"""Models built in a process of their own: its limits, and records that are not to be trusted."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from crosscast_parity.inside.confined import landlock
from crosscast_parity.processes.process import Outcome
from crosscast_parity.side_by_side import building, running
from crosscast_parity.side_by_side.building import Built, build
from crosscast_parity.side_by_side.running import LaidOut, Limits, Program


def built(folder: Path, text: str, limits: Limits | None = None, *arguments: str) -> Built:
    (folder / "train.py").write_text(text)
    program = Program(
        framework="torch",
        python=sys.executable,
        folder=folder,
        script="train.py",
        arguments=arguments,
        texts={},
    )
    return build(program, limits or Limits(seconds=60.0))


def test_what_ends_a_script_is_told(tmp_path: Path) -> None:
    text = (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\n"
    )
    found = built(tmp_path, f"{text}p.parse_args()\n")
    assert found.outcome == "not tested"
    assert found.ended.startswith("SystemExit: 2: ")
    assert found.ended.endswith("the following arguments are required: --data")
    assert built(tmp_path, "import sys\nsys.exit(0)\n").ended == ""
    assert built(tmp_path, "def f(:\n").ended.startswith("SyntaxError: ")
    assert "exit" not in built(tmp_path, "").wording
    assert built(tmp_path, "import os\nos._exit(1)\n").ended.startswith("the process ended")


def test_the_copy_alone_is_changed(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("old")
    found = built(tmp_path, "open('rows.txt', 'w').write('new')\nopen('more.txt', 'w')\ngone()\n")
    assert [place.words for place in found.not_tested] == ["NameError: name 'gone' is not defined"]
    assert (tmp_path / "rows.txt").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.txt", "train.py"]


def test_what_a_guard_protects_is_not_written_over(tmp_path: Path) -> None:
    best, folder = tmp_path / "best.txt", tmp_path / "program"
    folder.mkdir()
    best.write_text("trained for days")
    text = f"from pathlib import Path\ndef train():\n    raise RuntimeError\ntrain()\n{best!r}"
    found = built(folder, text.replace("PosixPath", "Path") + ".write_text('untrained')\n")
    lines = [(place.line, place.words.partition(":")[0]) for place in found.not_tested]
    assert lines == [(4, "RuntimeError"), (5, "PermissionError")]
    assert best.read_text() == "trained for days"


ABSENT = """\
import os
from os.path import isdir
from pathlib import Path
classes = os.listdir("data") if os.path.exists("data") else []
others = sorted(Path("data").iterdir()) if Path("data").is_dir() else []
if not isdir("out"):
    os.makedirs("out")
Path("out", "here").mkdir(exist_ok=True)
if Path("out", "here").is_dir() and not Path("out", "gone").exists():
    units = "kept"
print(len(classes))
print(len(others))
open(units + str(isdir("gone")) + str(Path("gone").is_file()))
"""


def test_whether_data_exists_is_not_known(tmp_path: Path) -> None:
    found = built(tmp_path, ABSENT)
    known = {place.line: place.words for place in found.not_tested}
    assert [*known] == [11, 12, 13]
    assert "keptFalseFalse" in known[13]


CHILDREN = """\
import multiprocessing, os, pathlib
def work(best, said):
    try:
        open(best, "w")
    except PermissionError:
        pathlib.Path(said).write_text("refused")
    open("gone in a child")
if __name__ == "__main__":
    for way in WAYS:
        child = multiprocessing.get_context(way).Process(target=work, args=(BEST, way))
        child.start()
        child.join()
    if os.fork() == 0:
        open("gone in a child")
    else:
        os.wait()
        raise ValueError(str([pathlib.Path(way).read_text() for way in WAYS]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it needs fork")
def test_children_are_held_and_write_no_records(tmp_path: Path) -> None:
    best, folder = tmp_path / "best.txt", tmp_path / "program"
    folder.mkdir()
    best.write_text("trained for days")
    ways = ("fork", "spawn") if landlock() else ("fork",)  # no others can be started
    found = built(folder, f"BEST = {str(best)!r}\nWAYS = {ways!r}\n{CHILDREN}")
    assert found.ended == f"ValueError: {['refused'] * len(ways)}"
    assert found.outcome == "not tested"
    assert [place.words for place in found.not_tested] == [found.ended]
    assert best.read_text() == "trained for days"


def test_limits_end_it_and_what_was_seen_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SLOW_POLL_SECONDS", 0.1)
    found = built(tmp_path, "open('gone')\nwhile True: pass\n", Limits(seconds=3.0))
    assert found.ended == "it was stopped after 3 s"
    assert [place.line for place in found.not_tested] == [1]
    text = "import time\nheld = b'x' * (300 << 20)\ntime.sleep(60)\n"
    found = built(tmp_path, text, Limits(seconds=60.0, memory=200 << 20))
    assert found.ended.startswith("it was stopped: it used more than")


DAMAGED = {
    "no JSON": "{",
    "no record": "[3]",
    "unknown kind": '{"kind": "other", "file": "a", "line": 3, "words": "x"}',
    "nested": "[" * 200_000,
    "endless line": '{"kind": "model", "file": "a", "line": 1e999, "name": "y"}',
    "no line": '{"kind": "model", "file": "a", "line": "x", "name": "y"}',
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_records_are_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def watched(program: Program, laid: LaidOut, *more: object) -> Outcome:
        (laid.root / "build.jsonl").write_text(f"{DAMAGED[name]}\n")
        return Outcome(kind="finished", message="", exit_code=0, log_tail="")

    monkeypatch.setattr(building, "watched", watched)
    found = built(tmp_path, "")
    assert found.outcome == "not tested"
    assert found.ended.startswith("its records are damaged: ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="it needs named pipes")
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_records_that_are_no_file_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def watched(program: Program, laid: LaidOut, *more: object) -> Outcome:
        records = laid.root / "build.jsonl"
        if kind == "pipe":
            os.mkfifo(records)
        else:
            records.symlink_to("/dev/zero")
        return Outcome(kind="finished", message="", exit_code=0, log_tail="")

    monkeypatch.setattr(building, "watched", watched)
    assert built(tmp_path, "").ended.startswith("its records are damaged: ")


def test_names_of_files_are_printable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def watched(program: Program, laid: LaidOut, *more: object) -> Outcome:
        record = {"kind": "model", "file": "a\x1b[2J\n.py", "line": 3, "name": "\x1b[2JNet"}
        (laid.root / "build.jsonl").write_text(f"{json.dumps(record)}\n")
        return Outcome(kind="finished", message="", exit_code=0, log_tail="")

    monkeypatch.setattr(building, "watched", watched)
    wording = built(tmp_path, "").wording
    assert "Net" in wording
    assert wording.isprintable()


def test_a_line_is_told_once_however_often_it_fails(tmp_path: Path) -> None:
    found = built(tmp_path, "for number in range(3000):\n    open(f'{number}.png')\n")
    assert [(p.line, p.words[-7:]) for p in found.not_tested] == [(2, "'0.png'")]


def test_a_script_may_put_away_its_streams(tmp_path: Path) -> None:
    text = "import sys, threading, time\nthreading.Thread(target=time.sleep, args=(30,)).start()\n"
    began = time.monotonic()
    assert built(tmp_path, f"{text}sys.stdout = None\n").ended == ""
    assert time.monotonic() - began < 20


def test_a_framework_without_the_module_is_named(tmp_path: Path) -> None:
    program = Program(
        framework="jax", python="", folder=tmp_path, script="a.py", arguments=(), texts={}
    )
    found = build(program, Limits())
    assert found.outcome == "not tested"
    assert found.wording == "ended early: models of jax cannot be watched"
