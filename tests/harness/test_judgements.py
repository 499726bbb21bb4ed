"""What was judged before is not judged again: when it is, when not, and what damage does."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.checks.check import Check
from crosscast_parity.compare import stage_checks
from crosscast_parity.compare.harness import Progress, compare
from crosscast_parity.exercise import recorded_runs
from crosscast_parity.judge import judgement_store
from crosscast_parity.judge.judgement_data import CHECKS, COMPARED, FIELDS
from crosscast_parity.judge.judgement_store import FILE, Judgements
from crosscast_parity.judge.records import FieldExercise, ParityReport
from crosscast_parity.planning.options import make_options
from parity_fakes import make_recipe
from parity_lab import Lab, compile_fakes, contestants

JUDGES = (
    (stage_checks, "check_dtypes"),
    (stage_checks, "check_later_types"),
    (stage_checks, "check_files"),
    (stage_checks, "check_evaluations"),
    (stage_checks, "replay_run"),
    (stage_checks, "compare_models"),
)
CHECK = Check(level="L1b", name="update", result="fail", wording="off", value=1e-7, limit=0)


@pytest.fixture
def lab(own_lab: Lab) -> Lab:
    """These tests count what is made."""
    return own_lab


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each function that reads recordings was called."""
    counted: Counter[str] = Counter()

    def counting(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            counted[name] += 1
            return real(*given, **named)

        return call

    for module, name in (*JUDGES, (recorded_runs, "exercise")):
        monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    return counted


def compared(lab: Lab, **options: Any) -> ParityReport:
    return lab.compare({"torch": "", "paddle": "late_growth"}, faults=["none"], twins=0, **options)


def entries(lab: Lab) -> list[Path]:
    return sorted(lab.folder.glob(f"runs/judgements/*/{FILE}"))


def test_a_second_comparison_judges_nothing(lab: Lab, calls: Counter[str]) -> None:
    first = compared(lab)
    recorded = {"check_dtypes", "check_later_types", "replay_run", "compare_models", "exercise"}
    assert set(calls) == {*recorded, "check_files", "check_evaluations"}
    assert len(entries(lab)) == calls.total()
    calls.clear()
    again = compared(lab)
    assert not calls
    assert again.pairs == first.pairs
    assert again.exercise == first.exercise
    assert [e.checks for e in again.entrants] == [e.checks for e in first.entrants]
    plain = [report.to_json()["pairs"] for report in (first, again)]
    assert json.dumps(plain[0]) == json.dumps(plain[1])


def test_runs_are_judged_while_others_are_made(lab: Lab, calls: Counter[str]) -> None:
    judged: list[int] = []

    def note(progress: Progress) -> None:
        if progress.kind == "ended" and "twin" not in progress.title:
            judged.append(calls["check_evaluations"])

    compare(
        contestants({"torch": "", "paddle": "late_growth"}, make_recipe()),
        options=make_options(lab.folder, check="model", windows=24, jobs=1, twins=2),
        compile_to=compile_fakes,
        on_progress=note,
    )
    assert judged == list(range(len(judged)))
    assert calls["check_evaluations"] == len(judged)  # of the perturbed runs nothing is asked


def test_other_code_judges_anew(
    lab: Lab, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compared(lab)
    before = calls.copy()
    monkeypatch.setattr(judgement_store, "code_hash", lambda: "other")
    assert compared(lab).pairs == first.pairs
    assert calls == before + before


def test_a_run_whose_files_changed_is_judged_anew(lab: Lab, calls: Counter[str]) -> None:
    compared(lab)
    first = calls.copy()
    calls.clear()
    for path in lab.folder.glob("runs/*/trace.jsonl"):
        os.utime(path, ns=(1, 1))
    compared(lab)
    for name in ("replay_run", "check_dtypes"):
        assert calls[name] == first[name] > 0


DAMAGES: dict[str, Callable[[str], str]] = {
    "empty": lambda text: "",
    "cut": lambda text: text[:-1],
    "deep": lambda text: "[" * 10000,
    "another form": lambda text: "[]",
    "other results": lambda text: text.replace("not tested", "pass").replace("true", "false"),
    "another key": lambda text: json.dumps(json.loads(text) | {"key": "0" * 20}),
}


def test_damaged_judgements_are_made_anew(lab: Lab, calls: Counter[str]) -> None:
    first = compared(lab)
    text = {path: path.read_text() for path in entries(lab)}
    for name, damage in DAMAGES.items():
        before = calls.copy()
        for path, whole in text.items():
            damaged = damage(whole)
            path.write_text(damaged)
            done = {"files": {FILE: len(damaged)}, "modules": {}}
            (path.parent / "done.json").write_text(json.dumps(done))
        changed = sum(damage(whole) != whole for whole in text.values())
        assert changed, name
        assert compared(lab).pairs == first.pairs, name
        assert (calls - before).total() == changed, name
        assert {path: path.read_text() for path in entries(lab)} == text, name


def test_runs_and_arguments_make_the_key(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("a", "b"):
        (runs / name).mkdir(parents=True)
        (runs / name / "done.json").write_text("{}")
    memory, made = Judgements(runs), []

    def ask(name: str, folders: list[Path], given: dict[str, Any]) -> bool:
        def judged() -> tuple[Check, ...]:
            made.append(name)
            return (CHECK,)

        count = len(made)
        assert memory.recall(CHECKS, name, folders, given, judged) == (CHECK,)
        return len(made) > count

    a, b = runs / "a", runs / "b"
    recipe, other = make_recipe(), make_recipe(scaled=False)
    assert ask("replay", [a], {"recipe": recipe})
    assert not ask("replay", [a], {"recipe": recipe})
    assert ask("replay", [a], {"recipe": other})
    assert ask("types", [a], {"recipe": recipe})
    assert ask("replay", [b], {"recipe": recipe})
    assert ask("replay", [a, b], {"recipe": recipe})
    assert ask("replay", [b, a], {"recipe": recipe})
    (a / "done.json").write_text('{"seconds": 2}')
    assert ask("replay", [a], {"recipe": recipe})
    assert ask("replay", [tmp_path], {"recipe": recipe})
    assert ask("replay", [tmp_path], {"recipe": recipe})  # it lies elsewhere


def test_errors_are_not_remembered(tmp_path: Path) -> None:
    run = tmp_path / "a"
    run.mkdir()
    (run / "done.json").write_text("{}")
    memory = Judgements(tmp_path)

    def broken() -> tuple[Check, ...]:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        memory.recall(CHECKS, "replay", [run], {}, broken)
    assert memory.recall(CHECKS, "replay", [run], {}, lambda: (CHECK,)) == (CHECK,)


def test_results_come_back_as_they_were() -> None:
    checks = (
        CHECK,
        Check(level="L2", name="loss", result="info", wording="", value=float("inf"), window=3),
    )
    errors = {"z": 0.1 + 0.2, "a": float("inf")}
    seen = (FieldExercise(field="seed", exercised=True, why="rows"),)
    again = CHECKS.read(json.loads(json.dumps(CHECKS.write(checks))))
    assert again == checks
    assert type(again[0].limit) is int
    found = COMPARED.read(json.loads(json.dumps(COMPARED.write((checks, errors)))))
    assert found == (checks, errors)
    assert list(found[1]) == list(errors)
    assert FIELDS.read(json.loads(json.dumps(FIELDS.write(seen)))) == seen


@pytest.mark.parametrize(
    "change",
    [
        {"level": "L9"},
        {"result": "passed"},
        {"name": 3},
        {"value": "1.0"},
        {"value": True},
        {"value": float("nan")},
        {"window": -1},
        {"window": 1.0},
        {"more": 1},
    ],
)
def test_a_check_that_none_would_write_is_refused(change: dict[str, Any]) -> None:
    (data,) = CHECKS.write((CHECK,))
    with pytest.raises((ValueError, TypeError)):
        CHECKS.read([data | change])


@pytest.mark.parametrize("data", [None, {}, [1], [{}], [{"field": "a", "exercised": 1, "why": ""}]])
def test_fields_that_none_would_write_are_refused(data: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        FIELDS.read(data)
