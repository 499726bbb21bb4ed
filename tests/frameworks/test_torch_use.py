"""Emitted PyTorch code in the user's hands: an own model, an own loop, several processes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import UpdateScale
from frameworks.emitted_script import FLOAT16, emit, tiny_recipe
from frameworks.same_training import same_training
from frameworks.script_runs import Run
from frameworks.subprocesses import warm
from frameworks.torch_lab import DYNAMIC, SCALED, SGD, Lab
from tiers import cases, exhaustive

pytestmark = pytest.mark.torch

OWN_MODEL = """
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(128, 16)
        self.frozen = nn.Linear(16, 16).requires_grad_(False)
        self.norm = nn.BatchNorm1d(16)  # its running statistics are state, too
        self.attention = nn.MultiheadAttention(16, 2, dropout=0.1, batch_first=True)
        self.out = nn.Linear(16, 128, bias=False)
        self.out.weight = self.embed.weight  # one parameter in two modules
        self.head = nn.Linear(128, 3)

    def forward(self, input_ids, attention_mask, token_type_ids):
        x = self.frozen(self.embed(input_ids))
        x = self.attention(x, x, x, need_weights=False)[0].float()
        x = self.norm((x * attention_mask[:, :, None]).sum(1))
        return self.head(self.out(x))
"""
CUSTOM: dict[str, Any] = {
    "model": {"kind": "custom", "factory": {"torch": "own_models.classifier:Classifier"}},
    "optimizer": {"name": "adamw", "learning_rate": 1e-3, "no_decay": ["bias", "embedding"]},
}
LOOP = """
import json

import numpy as np
import torch

import step

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
state = step.TrainState(model, step.make_optimizer(model), torch.device("cpu"), {scaler})
rows = np.random.default_rng(0).standard_normal((8, 4), np.float32)
micro = {{"x": rows, "labels": (rows[:, 0] > 0).astype(np.int64)}}


def loss_fn(model, batch):
    return torch.nn.functional.cross_entropy(model(batch["x"]), batch["labels"], reduction="sum")


print(json.dumps([step.train_window(state, [micro, micro], loss_fn) for _ in range(20)]))
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


HALF_WEIGHTS = {
    "precision": FLOAT16 | {"mode": "full"},
    "ema": {"decay": 0.9},
    "clipping": {"kind": "per_param_norm", "max_norm": 1.0, "exempt": ["embedding"]},
    "optimizer": CUSTOM["optimizer"]
    | {"groups": [{"parameters": ["attention.*", "head.?ias"], "rate_factor": 0.5}]},
}


@pytest.mark.parametrize(
    "sections",
    cases([{}, HALF_WEIGHTS], quick=[HALF_WEIGHTS], reason="with float32 weights, too"),
    ids=["mixed", "half weights"],
)
def test_a_model_of_the_users_own(lab: Lab, sections: dict[str, Any]) -> None:
    script = lab.script("run", **(CUSTOM | SCALED | sections))
    package = script.parent / "own_models"
    package.mkdir()
    (package / "classifier.py").write_text(OWN_MODEL)
    whole, _, parts = lab.ended(
        script, ("whole",), ("parts", "--windows", 9), ("parts", "--resume")
    )
    assert whole.trace == parts.trace
    assert whole.status["eval"] == parts.status["eval"]
    assert any(row["skipped"] for row in whole.trace)
    assert whole.trace[-1]["updates"] > 5
    assert {"embed.weight", "norm.running_mean", "frozen.weight"} <= whole.weights.keys()
    for name, array in whole.weights.items():
        assert array.tobytes() == parts.weights[name].tobytes(), name
    (run,) = lab.ended(
        script, ("more", "--weights", whole.output / "model.safetensors", "--windows", 1)
    )
    np.testing.assert_array_equal(run.weights["frozen.weight"], whole.weights["frozen.weight"])


@exhaustive("a model that was changed since its checkpoint")
def test_a_checkpoint_of_a_model_that_was_changed_since(lab: Lab) -> None:
    script = lab.script("run", **CUSTOM)
    package = script.parent / "own_models"
    package.mkdir()
    (package / "classifier.py").write_text(OWN_MODEL)
    lab.ended(script, ("out", "--windows", 2))
    for old, new in (("Linear(128, 3)", "Linear(128, 4)"), ("self.head", "self.tail")):
        (package / "classifier.py").write_text(OWN_MODEL.replace(old, new))
        # Bytecode is taken for current if size and second of the source are the same.
        shutil.rmtree(package / "__pycache__", ignore_errors=True)
        lab.main(script, ("out", "--resume"))[0].refused("checkpoint.safetensors")


@pytest.mark.parametrize(
    "scaled",
    cases([True, False], quick=[True], reason="without a scale, too"),
    ids=["scaled", "plain"],
)
def test_the_step_alone_in_a_loop_of_the_users_own(lab: Lab, scaled: bool) -> None:
    sections = {**(SCALED if scaled else {}), "optimizer": SGD, "batch": {"micro_batch_size": 8}}
    schedule = {"name": "constant", "total_steps": 20}
    folder = lab.folder / "own"
    emit(
        tiny_recipe(**sections, accumulation={"steps": 2}, schedule=schedule),
        "torch",
        folder,
        form="step",
    )
    assert sorted(path.suffix for path in folder.iterdir()) == [".json", ".py"]
    scaler = 'step.make_scaler(torch.device("cpu"))' if scaled else ""
    (folder / "mine.py").write_text(LOOP.format(scaler=scaler))
    done = lab.shell(warm("torch"), "-W", "error", folder / "mine.py")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert [row["rows"] for row in rows] == [16] * 20


def launch(lab: Lab, script: Path, name: str, *flags: object) -> tuple[Run, str]:
    output = script.parent / name
    done = lab.shell(
        script.with_name("launch.sh"), *lab.flags, "--output", output, *flags, OMP_NUM_THREADS="1"
    )
    return Run(output, done.returncode, done.stderr, ""), done.stdout


PARALLEL = {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}}


BY_ROWS: dict[str, Any] = {"clipping": {"kind": "global_norm", "max_norm": 0.5}}
BY_BATCHES: dict[str, Any] = {"accumulation": {"normalize_by": "microbatch", "tail": "drop"}}


@pytest.mark.parametrize(
    "sections",
    cases([BY_ROWS, BY_BATCHES], quick=[BY_ROWS], reason="means of micro-batches"),
    ids=["by rows, with short windows", "by micro-batches"],
)
def test_two_processes_train_as_one(lab: Lab, sections: dict[str, Any]) -> None:
    sections |= {"optimizer": SGD | {"momentum": 0.9}}
    first, second = lab.script("one", **sections), lab.script("two", **sections, **PARALLEL)
    (single,) = lab.ended(first, ("out",))
    double, shown = launch(lab, second, "out", "--log-every", 1)
    assert double.code == 0, double.stderr
    assert sum(line.startswith("finished") for line in shown.splitlines()) == 1
    assert sum(line.startswith("window 7/") for line in shown.splitlines()) == 1
    same_training(single, double)


@exhaustive("three runs of two processes")
def test_two_processes_skip_and_resume_together(lab: Lab) -> None:
    sections = {**SCALED, "loss_scaling": DYNAMIC | {"hysteresis": 2}}
    script = lab.script("run", **sections, **PARALLEL)
    whole, _ = launch(lab, script, "whole", "--windows", 14)
    part, _ = launch(lab, script, "parts", "--windows", 5)
    last, _ = launch(lab, script, "parts", "--windows", 14, "--resume")
    assert [run.code for run in (whole, part, last)] == [0, 0, 0], last.stderr
    assert whole.trace == last.trace
    for name, array in whole.weights.items():
        assert array.tobytes() == last.weights[name].tobytes(), name
    machine = canonical_plan(tiny_recipe(**sections)).find(UpdateScale)
    assert machine is not None
    state = loss_scale.initial(machine)
    for row in whole.trace:
        assert row["scale"] == state.scale
        state = loss_scale.adjust(machine, state, finite=not row["skipped"])
    assert any(row["skipped"] for row in whole.trace)


@exhaustive("what wrong starts of two processes say")
def test_a_script_for_two_processes_wants_two(lab: Lab) -> None:
    script = lab.script("run", **PARALLEL)
    output = script.parent / "out"
    for env in ({}, {"WORLD_SIZE": "3", "RANK": "0"}, {"WORLD_SIZE": "two", "RANK": "0"}):
        done = lab.shell(warm("torch"), script, *lab.flags, "--output", output, **env)
        assert done.returncode == 2
        assert "made for 2 processes: start launch.sh" in done.stderr
        assert json.loads((output / "status.json").read_text())["exit_code"] == 2
    (output / "status.json").unlink()
    other = {"WORLD_SIZE": "3", "RANK": "2"}
    done = lab.shell(warm("torch"), script, *lab.flags, "--output", output, **other)
    assert (done.returncode, done.stderr) == (2, "")  # the first process says it for all
    assert not (output / "status.json").exists()


@exhaustive("wrong data of two processes; `make test` has it in test_paddle_launch")
def test_wrong_data_ends_all_processes(lab: Lab) -> None:
    script = lab.script("run", **PARALLEL)
    run, _ = launch(lab, script, "out", "--train", lab.folder / "none.npz")
    assert run.code != 0
    assert run.stderr.count("failed: cannot read") == 1
    assert run.status["exit_code"] == 2
