"""The tables of the benchmarks; nothing is measured here."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def contestants(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module("contestants")


@pytest.fixture
def kept_bytes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module("kept_bytes")


@pytest.fixture
def step_time(contestants: ModuleType) -> ModuleType:
    return import_module("step_time")


def contestant(cpu: list[float], **changes: object) -> dict[str, object]:
    base = {"title": "x", "computes_in": "float32", "loss_difference": 0.0, "moved_difference": 0.0}
    return base | {"cpu": list(cpu), "wall": list(cpu)} | changes


def test_tables_import_no_framework(step_time: ModuleType) -> None:
    assert not {"torch", "tensorflow", "paddle"} & sys.modules.keys()


def test_every_framework_begins_with_its_hand_written_loop(contestants: ModuleType) -> None:
    for framework in contestants.FRAMEWORKS:
        listed = contestants.entries(framework)
        names = [entry.name for entry in listed]
        assert names[0] == contestants.BASE
        assert len(names) == len(set(names))
        assert {"control", "script", "step"} <= set(names)
        modules = {entry.name: entry.module for entry in listed}
        assert modules["control"] == modules["hand"]
    assert {entry.framework for entry in contestants.CONTESTANTS} == set(contestants.FRAMEWORKS)


def test_every_contestant_is_a_module_that_can_train(contestants: ModuleType) -> None:
    for module in {entry.module for entry in contestants.CONTESTANTS}:
        tree = ast.parse((BENCHMARKS / "contestants" / f"{module}.py").read_text())
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        for node in tree.body:
            if isinstance(node, ast.Assign):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        assert "train" in names, module


def test_optional_packages_are_in_the_bench_extra_and_pinned(
    contestants: ModuleType, kept_bytes: ModuleType
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["bench"]
    named = {re.match(r"[\w-]+", requirement)[0] for requirement in extra}  # type: ignore[index]
    pinned = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().split()}
    entries = (*contestants.CONTESTANTS, *kept_bytes.CONTESTANTS)
    packages = {entry.package for entry in entries} - {""}
    assert packages
    assert packages <= named
    assert packages <= pinned


def test_the_page_shows_every_contestant(contestants: ModuleType) -> None:
    page = (ROOT / "docs" / "explanation" / "performance.md").read_text()
    rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    for entry in contestants.CONTESTANTS:
        assert entry.title in rows


def test_models_that_keep_something_begin_with_the_emitted_one(kept_bytes: ModuleType) -> None:
    assert not {"torch", "tensorflow", "paddle"} & sys.modules.keys()
    for framework in kept_bytes.FRAMEWORKS:
        names = [entry.name for entry in kept_bytes.contestants(framework)]
        assert names[0] == kept_bytes.EMITTED
        assert len(names) == len(set(names))
        assert {"emitted_compute", "hand"} <= set(names)
    for entry in kept_bytes.CONTESTANTS:
        assert "float32" in entry.precisions or entry.base


def test_every_model_and_precision_has_its_numbers(step_time: ModuleType) -> None:
    assert step_time.CHECK_WINDOWS.keys() == step_time.WINDOWS.keys()
    assert step_time.LOSS_TOLERANCE.keys() == step_time.PRECISIONS.keys()
    assert step_time.MOVED_TOLERANCE.keys() == step_time.PRECISIONS.keys()


def test_ratios_are_taken_within_a_round(step_time: ModuleType) -> None:
    hand, own = contestant([1.0, 10.0, 1.0]), contestant([1.1, 11.0, 1.2])
    found = step_time.summary(own, hand)
    assert found["cpu_ratio"] == pytest.approx(1.1)
    assert found["cpu_min_ratio"] == pytest.approx(1.1)
    with pytest.raises(ValueError, match="zip"):
        step_time.summary(contestant([1.0]), hand)


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({}, ""),
        ({"computes_in": "bfloat16"}, "computes in bfloat16"),
        ({"loss_difference": 0.5}, "other losses: up to 0.5"),
        ({"loss_difference": float("nan")}, "other losses: up to nan"),
        ({"moved_difference": 0.5}, "weights move otherwise: 50%"),
    ],
)
def test_a_loop_that_does_other_work_is_named(
    step_time: ModuleType, changes: dict[str, object], remark: str
) -> None:
    assert step_time.remark("script", contestant([1.0], **changes), "float32") == remark


def test_processes_are_joined_by_their_rounds_and_worst_differences(step_time: ModuleType) -> None:
    results = [
        {"contestants": {"hand": contestant([1.0], loss_difference=0.1)}},
        {"contestants": {"hand": contestant([2.0], loss_difference=0.3)}},
        {"contestants": {"hand": contestant([3.0], loss_difference=0.2)}},
    ]
    merged = step_time.merge(results)["contestants"]["hand"]
    assert merged["cpu"] == [1.0, 2.0, 3.0]
    assert merged["loss_difference"] == 0.3


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(2)])
def test_a_loop_that_fails_says_so(contestants: ModuleType, error: BaseException) -> None:
    lane_module = import_module("contestants.lane")

    def loop(lane: object) -> None:
        raise error

    with pytest.raises(type(error)):
        lane_module.Lane(loop).start()


def test_a_loop_is_let_through_window_by_window(contestants: ModuleType) -> None:
    lane_module = import_module("contestants.lane")
    done: list[int] = []

    def loop(lane: lane_module.Lane) -> None:  # type: ignore[name-defined]
        for number in range(100):
            lane.next_window()
            done.append(number)

    lane = lane_module.Lane(loop)
    lane.start()
    assert done == []
    lane.run(3)
    lane.run(2)
    assert done == [0, 1, 2, 3, 4]
    lane.close()
    assert len(done) == 5


def test_a_loop_that_ends_by_itself_is_an_error(contestants: ModuleType) -> None:
    lane_module = import_module("contestants.lane")
    lane = lane_module.Lane(lambda lane: lane.next_window())
    lane.start()
    with pytest.raises(RuntimeError, match="by itself"):
        lane.run(1)
