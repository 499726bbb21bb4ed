"""Two processes train as one: gradients are averaged, and the schedule ticks once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import emit, tiny_recipe
from frameworks.subprocesses import run_python
from gotchas.mutation import TORCH, Mutation

pytestmark = pytest.mark.torch

# SGD shows a wrong divisor, which Adam hides.
SECTIONS: dict[str, Any] = {"optimizer": {"name": "sgd", "learning_rate": 0.05}}
PARALLEL = {"strategy": "data_parallel", "processes_per_node": 2}
FAULTS = (
    Mutation(6, "mean is taken for a sum", "two", (("(rows / PROCESSES)", "rows"),), TORCH),
    Mutation(
        23,
        "schedule ticks for every process",
        "two",
        (("learning_rate(state.updates)", "learning_rate(state.updates * PROCESSES)"),),
        TORCH,
    ),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("processes")
    two = tiny_recipe(**SECTIONS, distributed=PARALLEL)
    folders = {"one": emit(tiny_recipe(**SECTIONS), "torch", root / "one")}
    folders["two"] = emit(two, "torch", root / "two")
    for fault in FAULTS:
        folders[fault.name] = emit(two, "torch", root / fault.name)
        script = folders[fault.name] / "train.py"
        script.write_text(fault.apply(script.read_text()))
    program = Path(__file__).with_name("two_processes.py")
    answers = run_python(program, "torch", *folders.values())
    return {name: answers[str(folder)] for name, folder in folders.items()}


def same(entry: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether rates are equal, and losses, norms and weights but for rounding."""
    close = [
        other[key] == pytest.approx(row[key], rel=1e-5)
        for row, other in zip(entry["rows"], two["rows"], strict=True)
        for key in ("loss", "grad_norm")
    ]
    rates = [[row["lr"] for row in run["rows"]] for run in (entry, two)]
    return all(close) and rates[0] == rates[1]


def test_two_processes_train_as_one(found: dict[str, Any]) -> None:
    assert same(found["one"], found["two"])
    assert found["two"]["weights"] == pytest.approx(found["one"]["weights"], rel=1e-6)


@pytest.mark.parametrize("fault", [pytest.param(m, id=m.name) for m in FAULTS])
def test_without_the_adaptation_they_do_not(found: dict[str, Any], fault: Mutation) -> None:
    assert not same(found["one"], found[fault.name])
