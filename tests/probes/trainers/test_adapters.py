"""The adapters train: like the emitted script where the trainer means the same, else as known."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast.emit.compiler import compile_recipe
from crosscast.recipe.load import load
from crosscast_parity.adapters.registry import ADAPTERS
from frameworks.subprocesses import require, start
from tiers import cases, exhaustive

RECIPE = """
version: 1
name: adapters
seed: 7
model: {{kind: bert, layers: 1, hidden_size: 16, attention_heads: 2, intermediate_size: 32,
  vocab_size: 64, max_positions: 16, labels: 3, dropout: 0.0, init_std: 0.5}}
data: {{source: npz, train: train.npz, eval: eval.npz, sequence_length: 8}}
batch: {{micro_batch_size: 4, global_batch_size: 8}}
precision: {{{precision}}}
accumulation: {{steps: 2, normalize_by: sample}}
clipping: {{kind: global_norm, max_norm: 0.5}}
optimizer: {{{optimizer}}}
schedule: {{{schedule}}}
"""
SETTINGS = {
    "precision": "mode: none",
    "optimizer": "name: sgd, learning_rate: 0.1",
    "schedule": "name: constant, total_steps: 6",
}
HALF = {"precision": "mode: mixed, compute_dtype: float16"}
EVERY = [
    pytest.param(name, marks=getattr(pytest.mark, ADAPTERS[name].framework)) for name in ADAPTERS
]
TORCH = [pytest.param(name, marks=pytest.mark.torch) for name in ADAPTERS if name != "keras"]


@dataclass
class Lab:
    """Runs scripts on the same rows."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)

    def rows(self, count: int) -> None:
        """Write the training and the evaluation rows."""
        rng = np.random.default_rng(0)
        for name, size in (("train", count), ("eval", 8)):
            arrays: dict[str, Any] = {
                "input_ids": rng.integers(0, 64, (size, 8), np.int32),
                "attention_mask": np.ones((size, 8), np.int32),
                "token_type_ids": np.zeros((size, 8), np.int32),
                "labels": rng.integers(0, 3, size, np.int32),
            }
            np.savez(self.folder / f"{name}.npz", **arrays)

    def write(self, name: str) -> Path:
        """Write the folder of an adapter, or of the emitted script of a framework."""
        recipe_file = self.folder / "recipe.yaml"
        recipe_file.write_text(RECIPE.format(**SETTINGS | self.settings))
        recipe, folder = load(str(recipe_file)), self.folder / name
        if name in ADAPTERS:
            ADAPTERS[name].write(recipe, folder)
            return folder
        (compiled,) = compile_recipe(recipe, [name])
        for path, file in compiled.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(file.text)
        return folder

    def run(self, name: str, *flags: str, code: int = 0) -> dict[str, Any]:
        """Run a script and return its status."""
        adapter = ADAPTERS.get(name)
        for package in adapter.packages if adapter else ():
            require(package)
        folder = self.folder / name
        if not folder.exists():
            self.write(name)
        done = start(
            folder / "train.py",
            adapter.framework if adapter else name,
            *("--train", self.folder / "train.npz", "--eval", self.folder / "eval.npz"),
            *("--output", self.output(name), "--device", "cpu", "--threads", "1", *flags),
        )
        assert done.returncode == code, done.stderr[-3000:]
        status: dict[str, Any] = json.loads((self.output(name) / "status.json").read_text())
        return status

    def output(self, name: str) -> Path:
        return self.folder / f"run-{name}"

    def trace(self, name: str) -> list[dict[str, Any]]:
        lines = (self.output(name) / "trace.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def column(rows: list[dict[str, Any]], key: str) -> list[Any]:
    return [row[key] for row in rows]


@pytest.mark.parametrize("name", cases(EVERY, quick=["accelerate"], reason="more trainers"))
def test_trains_like_the_emitted_script(lab: Lab, name: str) -> None:
    lab.rows(16)  # two full windows an epoch: three epochs
    framework = ADAPTERS[name].framework
    status, plain = lab.run(name), lab.run(framework)
    ours, theirs = lab.trace(name), lab.trace(framework)
    for key in ("window", "n_micro", "rows", "scale", "skipped", "updates"):
        assert column(ours, key) == column(theirs, key), key
    for key in ("loss", "lr", "grad_norm"):
        np.testing.assert_allclose(column(ours, key), column(theirs, key), rtol=2e-5, err_msg=key)
    weights = load_file(lab.output(name) / "model.safetensors")
    for key, array in load_file(lab.output(framework) / "model.safetensors").items():
        np.testing.assert_allclose(weights[key], array, atol=2e-5, err_msg=key)
    assert status["status"] == "finished"
    assert (status["windows"], status["updates"]) == (6, 6)
    assert status["eval"]["loss"] == pytest.approx(plain["eval"]["loss"], rel=1e-5)
    assert set(ADAPTERS[name].packages) <= set(status["versions"])


@exhaustive("what trainers make of a short window")
@pytest.mark.parametrize("name", EVERY)
def test_short_last_window(lab: Lab, name: str) -> None:
    lab.rows(12)  # three micro-batches an epoch
    framework = ADAPTERS[name].framework
    lab.run(name, "--windows", "3")
    lab.run(framework, "--windows", "3")
    ours, theirs = lab.trace(name), lab.trace(framework)
    assert column(theirs, "rows") == [8, 4, 8]
    loss, norm = theirs[1]["loss"], theirs[1]["grad_norm"]
    if name == "keras":
        assert column(ours, "rows") == [8, 8, 8]
        return
    divisor = 1 if name == "transformers" else 2
    assert column(ours, "rows") == [8, 4, 8]
    assert ours[1]["loss"] == pytest.approx(loss / divisor, rel=1e-4)
    assert ours[1]["grad_norm"] == pytest.approx(norm / divisor, rel=1e-4)


@exhaustive("what trainers make of float16")
@pytest.mark.parametrize("name", TORCH)
def test_float16_on_a_cpu_is_something_else(lab: Lab, name: str) -> None:
    lab.settings = HALF
    lab.rows(16)
    assert lab.run(name, "--windows", "2")["status"] == "finished"
    assert column(lab.trace(name), "scale") == [1.0, 1.0]


@exhaustive("how Keras fit scales")
@pytest.mark.tensorflow
def test_keras_scales(lab: Lab) -> None:
    lab.settings = HALF | {"precision": HALF["precision"] + "}\nloss_scaling: {mode: dynamic"}
    lab.rows(16)
    lab.run("keras", "--windows", "2")
    assert all(scale > 1 for scale in column(lab.trace("keras"), "scale"))


@exhaustive("how Keras fit counts")
@pytest.mark.tensorflow
def test_keras_asks_the_schedule_with_micro_batches(lab: Lab) -> None:
    lab.settings = {"schedule": "name: linear, total_steps: 6"}
    lab.rows(16)
    lab.run("keras", "--windows", "2")
    expected = [0.1 * (1 - micro / 6) for micro in (1, 3)]
    assert column(lab.trace("keras"), "lr") == pytest.approx(expected, rel=1e-5)


@pytest.mark.torch
def test_trainer_that_is_not_installed(lab: Lab) -> None:
    lab.rows(16)
    folder = lab.write("accelerate")
    words = "No module named 'accelerate'"
    missing = f'raise ModuleNotFoundError("{words}", name="accelerate")\n'
    (folder / "accelerate.py").write_text(missing)
    status = lab.run("accelerate", code=3)
    assert status["status"] == "cannot_run"
    assert "accelerate is not installed; pip install accelerate>=1.10" in status["message"]


@exhaustive("adapters that are asked to resume")
@pytest.mark.torch
def test_no_resume(lab: Lab) -> None:
    lab.rows(16)
    assert "own checkpoints" in lab.run("accelerate", "--resume", code=2)["message"]


@exhaustive("adapters called twice")
@pytest.mark.torch
def test_two_trainings_in_one_process(lab: Lab) -> None:
    for package in ("accelerate", "transformers"):
        require(package)
    lab.rows(16)
    names = ("accelerate", "transformers", "accelerate")
    files = ["--train", str(lab.folder / "train.npz"), "--eval", str(lab.folder / "eval.npz")]
    runs = []
    for number, name in enumerate(names):
        output = lab.folder / f"out-{number}"
        output.mkdir()
        script = (lab.folder / name if number > 1 else lab.write(name)) / "train.py"
        arguments = [*files, "--output", str(output), "--device", "cpu", "--windows", "2"]
        run = {"name": str(number), "script": str(script), "output": str(output)}
        runs.append(run | {"arguments": arguments})
    spec = lab.folder / "spec.json"
    spec.write_text(json.dumps({"inside": "", "emulate": False, "runs": runs}))
    program = lab.folder / "session.py"
    imported = "from crosscast_parity.inside.session import main"
    program.write_text(f"import sys\n{imported}\nsys.exit(main(sys.argv[1:]))\n")
    done = start(program, "torch", spec)
    assert done.returncode == 0, done.stderr[-3000:]
    first, second, third = (
        (lab.folder / f"out-{number}" / "trace.jsonl").read_text() for number in range(3)
    )
    assert first == third
    assert len(second.splitlines()) == 2
