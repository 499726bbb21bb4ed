"""Scripts for older PyTorch, run by the installed one, which still has all that they use.

But for their check of the version, which `Lab.script_for` takes out.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import FLOAT16, emit, tiny_recipe
from frameworks.torch_lab import DROPOUT, HALF, SGD, Lab
from tiers import cases, exhaustive

pytestmark = pytest.mark.torch

OLD = ("torch@2.1", "torch@1.8")
NORM = {"kind": "global_norm", "max_norm": 0.1, "eps": 0.0}
SECTIONS: dict[str, dict[str, Any]] = {
    "adamw": {"model": DROPOUT, "clipping": NORM},
    "momentum": {"optimizer": SGD | {"momentum": 0.9, "weight_decay": 0.1}},
}
TWO = {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.mark.parametrize(
    ("target", "name"),
    cases(
        product(OLD, SECTIONS),
        quick=[("torch@1.8", "adamw")],
        reason="every old dialect with every optimizer",
    ),
)
def test_older_scripts_train_as_the_newest_one(lab: Lab, target: str, name: str) -> None:
    sections = SECTIONS[name] | {"overrides": {"torch": {"fused_optimizer": False}}}
    (new,) = lab.ended(lab.script("new", **sections), ("out",))
    old, _, resumed = lab.ended(
        lab.script_for(target, "old", **sections),
        ("out",),
        ("parts", "--windows", 7),
        ("parts", "--resume"),
    )
    for run in (old, resumed):
        assert run.trace == new.trace
        assert run.status["eval"] == new.status["eval"]
        for weight, array in run.weights.items():
            assert array.tobytes() == new.weights[weight].tobytes(), weight


@pytest.mark.parametrize("target", OLD)
def test_the_installed_version_is_refused(lab: Lab, target: str) -> None:
    script = emit(tiny_recipe(), target, lab.folder / "run") / "train.py"
    (run,) = lab.main(script, ("out",))
    assert (run.code, run.traceback) == (3, "")
    made_for = {"torch@2.1": "PyTorch 1.11 to 2.3", "torch@1.8": "PyTorch 1.6 to 1.10"}[target]
    assert run.stderr.startswith(f"cannot_run: this script is for {made_for}, not for 2.")
    assert run.status["status"] == "cannot_run"
    assert run.status["message"] in run.stderr
    assert not (run.output / "trace.jsonl").exists()


@pytest.mark.parametrize("target", cases(OLD, quick=["torch@1.8"], reason="older dialects"))
def test_half_precision_needs_a_gpu(lab: Lab, target: str) -> None:
    sections = {"precision": FLOAT16} if target == "torch@1.8" else HALF
    (run,) = lab.main(lab.script_for(target, "run", **sections), ("out",))
    assert (run.code, run.traceback) == (3, "")
    assert run.status["status"] == "cannot_run"
    assert "on a GPU only" in run.stderr


@exhaustive("the older launcher")
def test_two_processes_start_with_the_older_launcher(lab: Lab) -> None:
    script = lab.script_for("torch@2.1", "run", **TWO)
    launch = script.with_name("launch.sh")
    done = lab.shell(launch, *lab.flags, "--windows", 3, "--output", lab.folder / "out")
    assert done.returncode == 0, done.stderr
    assert "finished: {" in done.stdout
