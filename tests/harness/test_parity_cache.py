"""Which finished runs are used again, and what becomes of runs that spoil their process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.compare.command import exit_code
from crosscast_parity.compare.harness import compare
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.processes import sessions
from crosscast_parity.runs.workspace import Workspace
from parity_fakes import make_recipe, write_fakes
from parity_lab import Lab, compile_fakes, contestants, pair, run
from tiers import exhaustive

END = "    return 0\n\n\nif "
INTERRUPTED = """\
    status |= {"status": "stopped", "exit_code": 130, "message": "interrupted"}
    (args.output / "status.json").write_text(json.dumps(status))
    return 130


if """
HOARD = "    sys.hoard = [*getattr(sys, 'hoard', []), np.ones(4 * 10**7)]\n    time.sleep(0.5)\n"


@pytest.fixture
def lab(own_lab: Lab) -> Lab:
    """These tests count which runs are made."""
    return own_lab


def write_own(folder: Path, *, first: str = "", end: str = END) -> Contestant:
    """A user's script, with lines of its own at its beginning and its end."""
    write_fakes(folder, {"own": ""})
    script = folder / "own" / "train.py"
    text = script.read_text()
    assert END in text
    script.write_text(first + text.replace(END, end))
    return Contestant(name="own", target="none", recipe=make_recipe(), script=script)


def compare_own(own: Contestant, folder: Path, **options: Any) -> ParityReport:
    return compare(
        [*contestants({"torch": ""}, make_recipe()), own],
        options=make_options(folder, windows=24, twins=0, faults=["none"], jobs=2, **options),
        compile_to=compile_fakes,
    )


def cached(report: ParityReport, name: str) -> set[bool]:
    return {run.cached for run in report.runs if run.contestant == name}


def test_a_users_script_is_known_by_all_that_it_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # A relative entry: the runs are made in another folder.
    monkeypatch.setenv("PYTHONPATH", "elsewhere", prepend=os.pathsep)
    parts = tmp_path / "own" / "parts"
    for folder in ("elsewhere", "own/parts"):
        (tmp_path / folder).mkdir(parents=True)
    module, settings = tmp_path / "elsewhere" / "helper_of_mine.py", parts / "settings.json"
    module.write_text("RATE = 0.5\n")
    settings.write_text("{}")
    own = write_own(tmp_path, first="import helper_of_mine\n")

    def again() -> set[bool]:
        return cached(compare_own(own, tmp_path / "own" / "out"), "own")

    assert again() == {False}
    assert again() == {True}
    settings.write_text('{"layers": 3}')
    assert again() == {False}
    module.write_text("RATE = 0.4\n")
    assert again() == {False}
    (tmp_path / "own" / ".hidden").write_text("")
    assert again() == {True}


def test_two_scripts_of_one_folder_are_two(tmp_path: Path) -> None:
    own = write_own(tmp_path)
    assert own.script
    other = own.script.with_name("other.py")
    other.write_text(
        own.script.read_text().replace(
            "LR, WARMUP, TOTAL = 8, 2, 0.5", "LR, WARMUP, TOTAL = 8, 2, 0.4"
        )
    )
    second = Contestant(name="second", target="none", recipe=own.recipe, script=other)
    report = compare(
        [own, second],
        options=make_options(tmp_path / "out", windows=24, twins=0, faults=["none"]),
        compile_to=compile_fakes,
    )
    assert report.pairs[0].verdict == "DIFFERENT"


def test_variables_and_packages_make_another_run(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(python: str = sys.executable) -> set[bool]:
        report = compare(
            [Contestant(name="torch", target="fake-", recipe=make_recipe(), python=python)],
            options=make_options(lab.folder, check="model", windows=8, faults=["none"]),
            compile_to=compile_fakes,
        )
        return cached(report, "torch")

    assert again() == {False}
    monkeypatch.setenv("HARMLESS", "1")
    assert again() == {True}
    monkeypatch.setenv("FLAGS_cudnn_deterministic", "1")
    assert again() == {False}
    more = tmp_path / "more" / "extra-1.0.dist-info"
    more.mkdir(parents=True)
    (more / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
    python = tmp_path / "python"
    found = f"PYTHONPATH={more.parent}:$PYTHONPATH"
    python.write_text(f'#!/bin/sh\n{found} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    assert again(str(python)) == {False}
    assert again(str(python)) == {True}


DAMAGES: list[tuple[str, Callable[[str], str]]] = [
    ("done.json", lambda text: text[:20]),
    ("status.json", lambda text: text[:20]),
    ("status.json", lambda text: "x" * len(text)),
    ("trace.jsonl", lambda text: text[: len(text) // 2]),
    ("trace.jsonl", lambda text: "x" * len(text)),
    ("model.safetensors", lambda text: ""),
]


def test_damaged_runs_are_made_again(lab: Lab) -> None:
    """Each damage to a run of its own: all of them are made again, and no other one."""
    bugs = {"torch": "", "paddle": "noise"}
    lab.compare(bugs, faults=["none"], twins=0)
    kept = sorted(path.parent for path in lab.folder.glob("runs/*/done.json"))
    assert len(kept) > len(DAMAGES)
    for folder, (name, damage) in zip(kept, DAMAGES, strict=False):
        file = folder / name
        file.write_text(damage(file.read_bytes().decode("latin-1")))
    for expected in (len(DAMAGES), 0):
        report = lab.compare(bugs, faults=["none"], twins=0)
        assert [run.cached for run in report.runs].count(False) == expected
        assert all(run.outcome.complete for run in report.runs)


def test_a_script_that_exits_with_nothing_has_finished(tmp_path: Path, made: Path) -> None:
    own = write_own(tmp_path, end="    sys.exit()\n\n\nif ")
    report = compare_own(own, tmp_path / "out", cache=made)
    assert pair(report, "own").verdict == "EQUIVALENT"


@pytest.mark.parametrize("end", [INTERRUPTED, "    raise KeyboardInterrupt\n\n\nif "])
def test_a_script_cannot_interrupt_the_command(tmp_path: Path, made: Path, end: str) -> None:
    report = compare_own(write_own(tmp_path, end=end), tmp_path / "out", cache=made)
    mine = [run for run in report.runs if run.contestant == "own"]
    assert {run.outcome.kind for run in mine} == {"failed"}
    # One after another in one process, which none of them has ended.
    assert all(len(run.rows) == (24 if run.name == "main" else 4) for run in mine)
    assert not report.interrupted
    assert exit_code(report) == 1
    if end == INTERRUPTED:
        assert mine[0].outcome.message == "exit code 130: interrupted"


@exhaustive("gigabytes of memory")
def test_memory_left_by_earlier_runs_is_not_blamed_on_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MEMORY_POLL_SECONDS", 0.05)
    report = compare_own(write_own(tmp_path, end=HOARD + END), tmp_path / "out", memory=0.5)
    assert run(report, "own").outcome.complete
    assert len(list((tmp_path / "out" / "sessions").glob("*-own-*"))) > 1
    assert pair(report, "own").verdict == "EQUIVALENT"


def test_a_folder_serves_one_comparison_at_a_time(lab: Lab) -> None:
    other = Workspace(make_options(lab.folder), compile_fakes)
    other.prepare()
    with pytest.raises(DiagnosticError) as caught:
        lab.compare({"torch": ""}, twins=0)
    (found,) = caught.value.diagnostics
    assert found.code == "CC505"
    assert f"is in use by process {os.getpid()} of " in found.message
    other.release()
    report = lab.compare({"torch": ""}, twins=0)
    assert run(report, "torch").outcome.complete
