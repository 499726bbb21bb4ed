"""Findings reported while runs are in progress: the first one, when it comes, without promises.

With NumPy scripts, whose gradients are not recorded: their first windows show the gate and L0b.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.checks.check import Check
from crosscast_parity.compare.findings import EARLY, finding
from crosscast_parity.compare.harness import Progress, compare
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.runs import RECORDED
from crosscast_parity.report.progress import progress_on
from parity_fakes import make_recipe
from parity_lab import compile_fakes, contestants, pair

THREE = {"torch": "", "tensorflow": "noise", "paddle": "late_growth"}
STARTS = {"float32-initial", "float32-stress", "gate"}
Told = tuple[Path, list[Progress], ParityReport]
PART = re.compile(r"(\w+) (pass|FAIL|unclear|not tested)")


def told(
    folder: Path, bugs: Mapping[str, str], **options: Any
) -> tuple[list[Progress], ParityReport]:
    events: list[Progress] = []
    report = compare(
        contestants(bugs, make_recipe()),
        options=make_options(folder, check="model", windows=24, jobs=1, **options),
        compile_to=compile_fakes,
        on_progress=events.append,
    )
    return events, report


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("three")
    return folder, *told(folder, THREE)


def lines(events: list[Progress]) -> list[str]:
    return [event.title for event in events if event.kind == "finding"]


def results(line: str) -> dict[str, str]:
    """Return what a line says of each level."""
    _, _, parts = line.partition(": ")
    found = [PART.match(part) for part in parts.split("; ")]
    return {match[1]: match[2].replace("FAIL", "fail") for match in found if match}


def test_a_finding_comes_before_the_long_runs_of_its_program(three: Told) -> None:
    _, events, _ = three
    titles = [event.title for event in events if event.kind != "started"]
    begin = {name: f"{name} against torch, first {RECORDED} windows of model: " for name in THREE}
    assert titles.index("torch model/gate") < titles.index("tensorflow model/gate")
    for name in ("tensorflow", "paddle"):
        (line,) = [line for line in lines(events) if line.startswith(begin[name])]
        assert titles.index(line) == titles.index(f"{name} model/gate") + 1
        assert titles.index(line) < titles.index(f"{name} model/main")
    assert len(lines(events)) == 2
    shares = [event.done / event.total for event in events]
    assert shares == sorted(shares)


def test_a_finding_says_what_the_report_says_of_the_same_runs(three: Told) -> None:
    _, events, report = three
    for line in lines(events):
        name, levels = line.partition(" ")[0], results(line)
        assert levels.keys() == {"L1a", "L1b", "L1d", "gate", "L0b", "L0d"}
        assert "EQUIVALENT" not in line
        for level, result in levels.items():
            checks = pair(report, name).checks
            found = {c.result for c in checks if c.level == level and c.run in STARTS}
            assert {"fail", "unclear"}.isdisjoint(found)
            assert result == ("pass" if "pass" in found else "not tested")


def test_a_bug_that_shows_at_once_is_told_and_who_has_it(tmp_path: Path) -> None:
    events, report = told(tmp_path / "ours", {"torch": "", "paddle": "unsteady"})
    (line,) = lines(events)
    assert results(line)["gate"] == "fail"
    assert "gate FAIL (paddle: " in line
    assert pair(report).verdict == "DIFFERENT"
    events, report = told(tmp_path / "theirs", {"torch": "unsteady", "paddle": ""})
    (line,) = lines(events)
    assert "gate FAIL (torch itself: " in line
    assert pair(report).verdict == "DIFFERENT"


@pytest.mark.parametrize(("bug", "verdict"), [("late_growth", "DIFFERENT"), ("crash", "ERROR")])
def test_what_shows_later_is_not_denied(tmp_path: Path, bug: str, verdict: str) -> None:
    events, report = told(tmp_path, {"torch": "", "paddle": bug}, bisect=True)
    (line,) = lines(events)  # none of the comparisons of the bisection
    assert f"first {RECORDED} windows" in line
    assert "fail" not in results(line).values()
    assert pair(report).verdict == verdict
    assert bool(report.bisections) == (verdict == "DIFFERENT")


@pytest.mark.parametrize("bugs", [{"torch": "", "paddle": "cannot_run"}, {"torch": ""}])
def test_nothing_is_told_of_a_program_alone(tmp_path: Path, bugs: Mapping[str, str]) -> None:
    assert lines(told(tmp_path, bugs)[0]) == []


def test_a_comparison_that_goes_on_tells_first_what_is_known(three: Told, tmp_path: Path) -> None:
    folder, first, _ = three
    runs = shutil.copytree(folder / "runs", tmp_path / "runs")
    events, report = told(tmp_path, THREE)
    assert events == []
    for trace in runs.glob("*/trace.jsonl"):
        if len(trace.read_text().splitlines()) == 24:
            shutil.rmtree(trace.parent)
    events, again = told(tmp_path, THREE)
    assert [event.kind for event in events[:2]] == ["finding", "finding"]
    assert sorted(lines(events)) == sorted(lines(first))
    assert len(lines(events)) == 2
    assert again.pairs == report.pairs


def test_every_stage_with_recorded_runs_has_its_finding(tmp_path: Path) -> None:
    events: list[Progress] = []
    compare(
        contestants({"torch": "", "paddle": ""}, make_recipe()),
        options=make_options(tmp_path, check="full", windows=24, twins=0, jobs=2),
        compile_to=compile_fakes,
        on_progress=events.append,
    )
    stages = [re.search(r" of (\S+): ", line) for line in lines(events)]
    names = [match[1] for match in stages if match]
    assert len(names) == len(set(names)) == len(lines(events)) > 3
    assert not any(name.startswith("seed-") for name in names)


def test_the_worst_figure_of_a_level_is_quoted() -> None:
    def check(name: str, value: float, limit: float, result: Any = "pass") -> Check:
        return Check(
            level="L1a", name=name, result=result, wording="words", value=value, limit=limit
        )

    near, far = check("first loss", 9e-6, 1e-5), check("later gradients, initial", 1e-3, 1e-2)
    broken = check("first gradients, initial", 2.0, 1.0, "fail")
    line = finding("title", {"paddle": (far, near), "torch itself": ()})
    assert line == "title: L1a pass (first loss: 9e-06, limit 1e-05)"
    line = finding("title", {"paddle": (near,), "torch itself": (broken,)})
    assert line == "title: L1a FAIL (torch itself: first gradients, initial: words)"
    assert "L2" not in EARLY
    assert "L0c" not in EARLY


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["file", "terminal"])
def test_findings_are_lines_without_what_steers_a_terminal(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with progress_on(stream) as on_progress:
        on_progress(Progress("finding", "[red]L1a pass\x1b[2J of a\nb", None, 1.0, 2.0))
    assert "[red]L1a pass?[2J of a b\n" in stream.getvalue()
