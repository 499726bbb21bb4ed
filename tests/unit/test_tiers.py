"""The tiers of the tests and the journal of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from run_journal import FileResult, TierCost, read_journal
from tier_table import BEGIN, END, Collector, page_with, rows
from tiers import Lazy, cases, exhaustive

TESTS = Path(__file__).parents[1]
CONFTEST = """\
from run_journal import pytest_addoption, pytest_configure

def pytest_collection_modifyitems(items):
    print("collected", len(items))
"""
PASSING = """\
import pytest

@pytest.mark.exhaustive("more")
def test_a(): ...

def test_b():
    sum(range(5_000_000))
"""
BARE = "import pytest\n\n@pytest.mark.exhaustive\ndef test_d(): ...\n"
FAILING = "def test_c():\n    assert False\n"


def run(folder: Path, *arguments: str) -> str:
    """Run pytest on a folder with a journal; return what it printed."""
    command = [sys.executable, "-m", "pytest", str(folder), "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--journal", str(folder / "journal.jsonl"), *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    exhaustive: more\n")
    (tmp_path / "test_passing.py").write_text(PASSING)
    (tmp_path / "test_failing.py").write_text(FAILING)
    return tmp_path


@pytest.mark.parametrize(
    "workers",
    [
        pytest.param([], id="alone"),
        pytest.param(["-n", "2", "--dist", "loadfile"], id="two", marks=exhaustive("two workers")),
    ],
)
def test_a_journal_leaves_out_what_passed(folder: Path, workers: list[str]) -> None:
    output = run(folder, *workers)
    assert "2 passed, 1 failed, 0 skipped in 2 files" in output, output
    _, found = read_journal(folder / "journal.jsonl")
    passing = found["test_passing.py"]
    assert (passing.quick.tests, passing.exhaustive.tests) == (1, 1)
    assert passing.reasons == {"more": 1}
    assert passing.quick.cpu_seconds > 0
    (folder / "test_failing.py").write_text("def test_c(): ...\n")
    output = run(folder, *workers)
    assert "3 passed, 0 failed, 0 skipped in 2 files" in output, output
    assert "1 passed" in output
    assert "2 deselected" in output or workers


def test_a_mark_without_a_reason_is_refused_at_once(folder: Path) -> None:
    (folder / "test_bare.py").write_text(BARE)
    output = run(folder)
    assert "marked exhaustive without a reason: test_bare.py::test_d" in output, output
    assert not (folder / "journal.jsonl").exists() or not read_journal(folder / "journal.jsonl")[1]


def test_other_sources_begin_again(folder: Path) -> None:
    journal = folder / "journal.jsonl"
    journal.write_text('{"revision": "of another day"}\n')
    run(folder)
    with journal.open("a") as file:
        file.write('{"file": "test_cut')
    sources, found = read_journal(journal)
    assert sources != "of another day"
    assert found.keys() == {"test_passing.py", "test_failing.py"}


def test_cases_have_their_tiers() -> None:
    params = cases([1, (2, 3), pytest.param(4, marks=pytest.mark.torch)], quick=[1], reason="twice")
    marks = [[mark.name for mark in getattr(param, "marks", ())] for param in params]
    assert marks == [[], ["exhaustive"], ["torch", "exhaustive"]]
    assert [param.values for param in params] == [(1,), (2, 3), (4,)]


def test_a_quick_case_must_exist() -> None:
    with pytest.raises(ValueError, match=r"no such cases: \['c'\]"):
        cases(["a", "b"], quick=["c"], reason="")


def test_what_is_lazy_is_made_once() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    lazy = Lazy(make)
    assert [lazy["a"], lazy["a"], made] == ["A", "A", ["a"]]


def test_the_table_says_what_was_not_measured() -> None:
    collected = Collector()
    collected.found["tests/unit/test_x.py"].update({"": 3, "more": 2})
    collected.found["tests/fuzz/test_y.py"].update({"": 1})
    known = FileResult("tests/unit/test_x.py", quick=TierCost(3, 2.0, 1.6))
    lines = list(rows(collected.found, {known.file: known}))
    assert "| `unit` | 3 | 2 | 2 | not measured |" in lines
    assert "| `fuzz` | 1 | not measured | 0 | 0 |" in lines
    assert lines[-1] == "| all | 4 | not measured | 2 | not measured |"
    page = page_with(f"before {BEGIN} old {END} after", lines)
    assert page.startswith("before ")
    assert page.endswith(" after")
    assert " old " not in page
    with pytest.raises(ValueError, match="missing"):
        page_with("nothing", lines)
