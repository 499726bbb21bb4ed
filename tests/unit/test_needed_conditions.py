"""The program that removes conditions: what it takes for one, what is left, and what it keeps."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "needed_conditions"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    monkeypatch.syspath_prepend(BENCHMARK)
    return import_module


class Rewritten:
    """A rewritten text and its conditions by kind and text."""

    def __init__(self, load: Callable[[str], ModuleType], text: str) -> None:
        self.switch = load("switch").Switch()
        tree, found = load("conditions").rewrite(text, "module.py", 0)
        self.switch.add(found)
        self.names: dict[str, Any] = self.switch.names()
        exec(compile(tree, "module.py", "exec"), self.names)

    def conditions(self) -> list[str]:
        return [f"{each.kind}: {each.text}" for each in self.switch.conditions]

    def call(self, removed: str, *values: object) -> Any:
        """Call `f` without a condition; with all of them for an empty text."""
        self.switch.removed[:] = bytes(len(self.switch.removed))
        if removed:
            self.switch.removed[self.conditions().index(removed)] = 1
        result = self.names["f"](*values)
        return list(result) if isinstance(result, Iterator) else result


JUMP = """
def f(xs):
    for x in xs:
        if x % 2:
            continue
        yield x
"""
OR_JUMP = """
def f(x):
    if x == 1 or x == 2:
        return "small"
    return "large"
"""
AND_JUMP = OR_JUMP.replace("or x ==", "and x !=")
BODY = """
def f(x):
    found = []
    if x > 1:
        found.append(x)
    return found
"""
AND_BODY = BODY.replace("x > 1", "x > 1 and x < 5")
COMPREHENSION = """
def f(xs):
    return [x for x in xs if x > 1 if not (x > 5 or x == 3)]
"""
CASE = """
def f(x):
    match x:
        case [y] if y > 1:
            return y
    return None
"""
CHOICE = """
def f(x):
    if x and x > 1:
        return "large"
    else:
        return "small" if x or x is None else "none"
"""
VALUES = """
def f(x, y, z):
    return x and y or z
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (JUMP, ["skip: x % 2"]),
        (OR_JUMP, ["or: x == 1", "or: x == 2"]),
        (AND_JUMP, ["skip: x == 1 and x != 2", "and: x == 1", "and: x != 2"]),
        (BODY, ["only if: x > 1"]),
        (AND_BODY, ["and: x > 1", "and: x < 5"]),
        (
            COMPREHENSION,
            [
                "comprehension: x > 1",
                "comprehension: not (x > 5 or x == 3)",
                "or: x > 5",
                "or: x == 3",
            ],
        ),
        (CASE, ["case: y > 1"]),
        (CHOICE, ["and: x", "and: x > 1", "or: x", "or: x is None"]),
        (VALUES, ["or: x and y", "and: x", "and: y", "or: z"]),
    ],
)
def test_conditions_that_are_found(
    load: Callable[[str], ModuleType], text: str, expected: list[str]
) -> None:
    assert Rewritten(load, text).conditions() == expected


@pytest.mark.parametrize(
    ("text", "removed", "given", "expected"),
    [
        (JUMP, "", ([1, 2],), [2]),
        (JUMP, "skip: x % 2", ([1, 2],), [1, 2]),
        (OR_JUMP, "", (2,), "small"),
        (OR_JUMP, "or: x == 2", (2,), "large"),
        (OR_JUMP, "or: x == 2", (1,), "small"),
        (OR_JUMP, "or: x == 1", (1,), "large"),
        (AND_JUMP, "", (1,), "small"),
        (AND_JUMP, "skip: x == 1 and x != 2", (1,), "large"),
        (AND_JUMP, "and: x == 1", (3,), "small"),
        (AND_JUMP, "and: x != 2", (2,), "large"),
        (BODY, "only if: x > 1", (0,), [0]),
        (AND_BODY, "and: x > 1", (0,), [0]),
        (AND_BODY, "and: x > 1", (9,), []),
        (AND_BODY, "and: x < 5", (9,), [9]),
        (COMPREHENSION, "", ([1, 2, 3, 9],), [2]),
        (COMPREHENSION, "comprehension: x > 1", ([1, 2, 3, 9],), [1, 2]),
        (COMPREHENSION, "or: x == 3", ([1, 2, 3, 9],), [2, 3]),
        (CASE, "", ([1],), None),
        (CASE, "case: y > 1", ([1],), 1),
        (CHOICE, "and: x > 1", (1,), "large"),
        (CHOICE, "or: x is None", (None,), "none"),
        (VALUES, "", (1, 2, 3), 2),
        (VALUES, "", (0, 2, 3), 3),
        (VALUES, "and: x", (0, 2, 3), 2),
        (VALUES, "and: y", (1, 2, 3), 1),
        (VALUES, "or: z", (1, 0, 3), 0),
        (VALUES, "or: x and y", (1, 2, 3), 3),
    ],
)
def test_a_removed_condition_decides_nothing(
    load: Callable[[str], ModuleType],
    text: str,
    removed: str,
    given: tuple[object, ...],
    expected: object,
) -> None:
    assert Rewritten(load, text).call(removed, *given) == expected


def test_a_removed_condition_is_not_evaluated(load: Callable[[str], ModuleType]) -> None:
    rewritten = Rewritten(load, "def f(x):\n    if 1 / x:\n        return 1\n    return 2\n")
    assert rewritten.call("skip: 1 / x", 0) == 2
    with pytest.raises(ZeroDivisionError):
        rewritten.call("", 0)


def test_other_code_is_left_alone(load: Callable[[str], ModuleType]) -> None:
    text = "X = 1 and 2\nif X or 3:\n    Y = [x for x in 'ab' if x or 1]\n"
    assert Rewritten(load, text + "def f():\n    assert X or 3\n").conditions() == []
    assert Rewritten(load, "def f(x):\n    return x or ''\n").conditions() == []


@pytest.mark.parametrize(
    ("x", "y", "reached", "differed"),
    [
        (1, 1, ["or: x > 2", "or: y > 2"], []),
        (1, 3, ["or: x > 2", "or: y > 2"], ["or: y > 2"]),
        (3, 3, ["or: x > 2"], ["or: x > 2"]),
    ],
)
def test_what_differs_is_recorded(
    load: Callable[[str], ModuleType], x: int, y: int, reached: list[str], differed: list[str]
) -> None:
    text = "def f(x, y):\n    if x > 2 or y > 2:\n        return 1\n    return 2\n"
    rewritten = Rewritten(load, text)
    rewritten.switch.recording = True
    rewritten.call("", x, y)
    names = rewritten.conditions()
    assert [names[number] for number in sorted(rewritten.switch.reached)] == reached
    assert [names[number] for number in sorted(rewritten.switch.differed)] == differed


def test_a_value_that_is_used_differs(load: Callable[[str], ModuleType]) -> None:
    rewritten = Rewritten(load, "def f(x, y):\n    return x or y\n")
    rewritten.switch.recording = True
    rewritten.call("", 0, 0)  # 0 without the term as well, but it need not be the same object
    assert rewritten.switch.differed == {1}


def test_keys_do_not_depend_on_lines_above(load: Callable[[str], ModuleType]) -> None:
    rewrite = load("conditions").rewrite
    keys = [[each.key for each in rewrite(text, "m.py", 0)[1]] for text in (JUMP, f"X = 1\n{JUMP}")]
    assert keys[0] == keys[1] == ["m.py f [skip] x % 2"]
    twice = "def f(x):\n    z = x or y\n    return x or y\n"
    assert [each.key for each in rewrite(twice, "m.py", 0)[1]] == [
        "m.py f [or] x",
        "m.py f [or] y",
        "m.py f [or] x #2",
        "m.py f [or] y #2",
    ]


# processes


def spin() -> None:
    while True:
        pass


def test_processes_end_with_a_result_or_a_reason(load: Callable[[str], ModuleType]) -> None:
    forks = load("forks")
    works = [
        forks.Work("returns", lambda: [1, "a" * 200_000], 5),
        forks.Work("raises", lambda: 1 / 0, 5),
        forks.Work("exits", lambda: os._exit(3), 5),
        forks.Work("spins", spin, 1),
    ]
    ended = {each.name: each for each in forks.run(iter(works), jobs=2)}
    assert ended["returns"].result == [1, "a" * 200_000]
    failures = {name: each.failure for name, each in ended.items()}
    assert failures == {"returns": "", "raises": "crash", "exits": "crash", "spins": "time limit"}


def test_waiting_is_not_computing(load: Callable[[str], ModuleType]) -> None:
    forks = load("forks")

    def wait() -> int:
        time.sleep(1.2)
        return 1

    [ended] = forks.run(iter([forks.Work("waits", wait, 1)]), jobs=1)
    assert ended.result == 1


# what is kept


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("package/m.py", JUMP), ("test_a.py", "a\n"), ("test_b.py", "b\n")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def journal(load: Callable[[str], ModuleType], project: Path) -> Any:
    records = load("records")
    records.hash_of.cache_clear()
    return records.Journal(project / "results.jsonl", project / "package", project)


def test_results_hold_until_the_module_or_the_tests_change(
    load: Callable[[str], ModuleType], project: Path
) -> None:
    condition = load("conditions").rewrite(JUMP, "m.py", 0)[1][0]
    result = load("records").Result
    both = ["test_a.py::test_1", "test_b.py::test_2"]

    def known() -> object:
        return journal(load, project).find(condition, both)

    def write(outcome: str, by: str, tests: list[str]) -> object:
        kept = journal(load, project)
        made = result(condition.key, outcome, by, 2, kept.basis(condition, tests))
        kept.add(made)
        return made

    assert known() is None
    passed = write("passed", "", both)
    assert known() == passed
    (project / "test_b.py").write_text("other\n")
    assert known() is None

    noticed = write("noticed", both[0], both[:1])
    assert known() == noticed
    (project / "test_b.py").write_text("again other\n")
    assert known() == noticed  # by the other test
    (project / "package" / "m.py").write_text("x = 1\n")
    assert known() is None


def test_a_line_that_was_cut_off_is_left_out(
    load: Callable[[str], ModuleType], project: Path
) -> None:
    condition = load("conditions").rewrite(JUMP, "m.py", 0)[1][0]
    kept = journal(load, project)
    made = load("records").Result(condition.key, "passed", basis=kept.basis(condition, []))
    kept.add(made)
    path = project / "results.jsonl"
    path.write_text(path.read_text() + '{"key": "m.py')
    assert journal(load, project).find(condition, []) == made


def test_recordings_hold_for_sources_and_test_file(
    load: Callable[[str], ModuleType], project: Path
) -> None:
    records, runner = load("records"), load("runner")
    conditions = load("conditions").rewrite(JUMP, "m.py", 0)[1]
    source, path = project / "package" / "m.py", project / "recorded.json"

    def kept() -> Any:
        records.hash_of.cache_clear()
        return records.Recording(path, project, [source])

    record = runner.FileRecord({"test_a.py::test_1": runner.TestRecord(0.5, [0])}, [0], [])
    kept().add("test_a.py", record, conditions)
    assert kept().reached() == {conditions[0].key}
    assert kept().tests() == {conditions[0].key: {"test_a.py::test_1": 0.5}}
    files = ["test_a.py", "test_b.py"]
    assert kept().stale(files, other_sources=False) == ["test_b.py"]
    slow = {f"test_b.py::test_{number}": runner.TestRecord(number, [0]) for number in (9, 2)}
    kept().add("test_b.py", runner.FileRecord(slow, [0], []), conditions)
    fastest = {"test_a.py::test_1": 0.5, "test_b.py::test_2": 2}
    assert list(kept().tests(2)[conditions[0].key].items()) == list(fastest.items())
    assert len(kept().tests()[conditions[0].key]) == 3
    source.write_text("x = 1\n")
    assert kept().stale(files, other_sources=False) == files
    assert kept().stale(files, other_sources=True) == []
    (project / "test_a.py").write_text("other\n")
    assert kept().stale(files, other_sources=True) == ["test_a.py"]


# the report


def test_the_report_counts_and_lists(load: Callable[[str], ModuleType]) -> None:
    table, result = load("table"), load("records").Result
    first, second = load("conditions").rewrite(OR_JUMP, "lint/rules/double_step.py", 0)[1]
    tried = [(first, result(first.key, "noticed")), (second, result(second.key, "same"))]
    lines = table.report(tried).splitlines()
    assert lines[0] == (
        "translator/crosscast_reading/lint/rules/double_step.py:3 f [or] x == 2: no test in which "
        "it changes anything"
    )
    assert lines[-1].split() == ["all", "2", "1", "0", "1", "0", "50.0", "%"]
    assert "**50.0 %**" in table.page(tried, 2, 1, 250)


def test_reasons_name_conditions_that_exist(load: Callable[[str], ModuleType]) -> None:
    package = BENCHMARK.parents[1] / "translator" / "crosscast_reading"
    known = json.loads((BENCHMARK / "equivalent.json").read_text())
    rewrite = load("conditions").rewrite
    for key, reason in known.items():
        module = key.partition(" ")[0]
        found = rewrite((package / module).read_text(), module, 0)[1]
        assert key in {each.key for each in found}
        assert reason.endswith(".")
