"""Two workers of TensorFlow decide as one: the mean is taken before anything looks at gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import FLOAT16, emit, tiny_recipe
from frameworks.subprocesses import run_python
from gotchas.mutation import TENSORFLOW, Mutation
from tiers import exhaustive

pytestmark = [pytest.mark.tensorflow, exhaustive("adaptations of two Keras processes, taken out")]

# SGD shows a wrong divisor, which Adam hides.
SECTIONS: dict[str, Any] = {
    "optimizer": {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9},
    "precision": FLOAT16,
    "loss_scaling": {"mode": "dynamic", "init_scale": 64.0, "growth_interval": 100},
    "clipping": {"kind": "global_norm", "max_norm": 0.2},
}
PARALLEL = {"strategy": "data_parallel", "processes_per_node": 2}
MEAN = "return means[:-1], means[-1]"
LATE = Mutation(1, "no mean before the check", "two", ((MEAN, "return gradients, means[-1]"),))
SUM = Mutation(6, "sum for a mean", "two", (('all_reduce("MEAN"', 'all_reduce("SUM"'),))
FAULTS = (LATE, SUM)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """By recipe or fault: what each worker found."""
    root = tmp_path_factory.mktemp("workers")
    two = tiny_recipe(**SECTIONS, distributed=PARALLEL)
    folders = {"one": emit(tiny_recipe(**SECTIONS), TENSORFLOW, root / "one")}
    folders["two"] = emit(two, TENSORFLOW, root / "two")
    for fault in FAULTS:
        folders[fault.fault] = emit(two, TENSORFLOW, root / fault.fault.replace(" ", "-"))
        script = folders[fault.fault] / "train.py"
        script.write_text(fault.apply(script.read_text()))
    program = Path(__file__).with_name("two_workers.py")
    workers = run_python(program, TENSORFLOW, *folders.values(), timeout=540)
    return {name: [worker[str(folder)] for worker in workers] for name, folder in folders.items()}


def same(entry: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether losses, norms, skips and scales are equal, but for rounding to float16."""
    pairs = list(zip(entry["rows"], two["rows"], strict=True))
    close = [
        other[key] == (None if row[key] is None else pytest.approx(row[key], rel=2e-3))
        for row, other in pairs
        for key in ("grad_norm", "scale", "skipped", "updates")
    ]
    # An infinite loss of one process is one of the window.
    close += [a["loss"] == pytest.approx(b["loss"], rel=2e-3) for a, b in pairs if b["loss"]]
    return all(close) and two["weights"] == pytest.approx(entry["weights"], rel=1e-4)


def test_an_overflow_in_one_process_skips_in_both(found: dict[str, list[dict[str, Any]]]) -> None:
    first, second = found["two"]
    assert [row["skipped"] for row in first["rows"]] == [False, True, False, False]
    assert [row["scale"] for row in first["rows"]] == [64.0, 64.0, 32.0, 32.0]
    assert first == second
    assert same(found["one"][0], first)


def test_without_the_mean_before_the_check_the_weights_part(
    found: dict[str, list[dict[str, Any]]],
) -> None:
    first, second = found[LATE.fault]
    assert [row["skipped"] for row in first["rows"]] == [False] * 4
    assert second["rows"][1]["skipped"]
    assert first["weights"] != second["weights"]


def test_a_sum_for_a_mean_is_another_training(found: dict[str, list[dict[str, Any]]]) -> None:
    assert not same(found["one"][0], found[SUM.fault][0])
