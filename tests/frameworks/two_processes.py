"""A recipe in one process and in two, started by the emitted launch.sh: the same training."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.recipe.document import BertModel
from crosscast_parity.inputs.weights import bert_weights, save
from frameworks.emitted_script import FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.own_state_models import SOURCES
from frameworks.same_training import same_training
from frameworks.script_runs import Run, calls
from frameworks.subprocesses import completed, environment, warm

PARALLEL: dict[str, Any] = {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}}
SGD = {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9}
CLIPPED = {"kind": "global_norm", "max_norm": 0.2}
LION = {"name": "lion", "learning_rate": 1e-3}
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**24, "growth_interval": 3}
SECONDS = 280
KERAS2 = "tensorflow@2.15"
SCALED: dict[str, Any] = {
    "optimizer": SGD,
    "precision": FLOAT16,
    # Processes multiply the loss by their number: at the edge of overflow they part.
    "loss_scaling": DYNAMIC | {"init_scale": 1024.0},
}
HALF_WEIGHTS: dict[str, Any] = {"precision": FLOAT16 | {"mode": "full"}}
HALF_SUMS = HALF_WEIGHTS | {"accumulation": {"dtype": "compute"}}


@dataclass(frozen=True)
class Case:
    """A recipe for one and for two processes, and how far rounding may part them."""

    target: str
    sections: dict[str, Any]
    rel: float = 1e-5
    atol: float = 1e-6
    free: str = "-"
    rows: int = 44

    @property
    def framework(self) -> str:
        """The package that must be installed."""
        return "tf_keras" if self.target == KERAS2 else self.target


class Lab:
    """Scripts below a folder, and the same small data for all of them: windows of 16, 16, 12."""

    def __init__(self, folder: Path, framework: str, own_model: str = "") -> None:
        """`own_model`: the source of `net.py`, where `own_state_models` has none."""
        self.folder, self.framework = folder, framework
        self.own_model = own_model or SOURCES[framework]
        self.flags = (
            *("--train", write_rows(folder / "train.npz", 44), "--device", "cpu"),
            *("--eval", write_rows(folder / "eval.npz", 10, seed=1), "--threads", 1),
        )
        initial = folder / "initial.safetensors"
        model = tiny_recipe().model
        assert isinstance(model, BertModel)
        save(initial, bert_weights(model, 3, 0.02))
        self.windows = ("--windows", 7)
        self.short = ("--weights", initial, *self.windows)

    def script(self, name: str, target: str = "", /, **sections: Any) -> Path:
        recipe = tiny_recipe(**sections)
        script = emit(recipe, target or self.framework, self.folder / name) / "train.py"
        if not isinstance(recipe.model, BertModel):
            script.with_name("net.py").write_text(self.own_model)
        return script

    def alone(self, script: Path, framework: str, *flags: object) -> Run:
        """The run of one process."""
        (run,) = calls(script, framework, [(script.parent / "out", (*self.flags, *flags))])
        return run

    def start(self, *command: object, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            list(map(str, command)),
            env=environment() | {"PYTHON": warm(self.framework, harness=False)} | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self, process: subprocess.Popen[str], output: Path) -> Run:
        done = completed(process, SECONDS)
        return Run(output, done.returncode, done.stderr, "")

    def launch(self, script: Path, name: str, *flags: object) -> Run:
        output = script.parent / name
        command = (script.with_name("launch.sh"), *self.flags, "--output", output, *flags)
        return self.end(self.start(*command), output)

    def train_as_one(self, case: Case) -> Run:
        """Check that two processes train as one does; return the run of the two."""
        write_rows(self.folder / "train.npz", case.rows)
        script = self.script("one", case.target, **case.sections)
        two = self.script("two", case.target, **case.sections, **PARALLEL)
        flags = self.windows if "model" in case.sections else self.short
        single = self.alone(script, case.framework, *flags)
        double = self.launch(two, "out", *flags)
        assert (single.code, double.code) == (0, 0), single.traceback + double.stderr
        same_training(single, double, rel=case.rel, atol=case.atol, free=case.free)
        if "loss_scaling" in case.sections:
            assert len({row["scale"] for row in double.trace}) > 1
        return double

    def skip_and_resume(self) -> None:
        """Check that two processes skip and resume together, with dropout."""
        scaled = {"precision": FLOAT16, "loss_scaling": DYNAMIC}
        model = TINY["model"] | {"dropout": 0.1}
        script = self.script("run", model=model, **scaled, **PARALLEL)
        whole = self.launch(script, "whole", "--windows", 12)
        part = self.launch(script, "parts", "--windows", 5)
        last = self.launch(script, "parts", "--windows", 12, "--resume")
        assert [run.code for run in (whole, part, last)] == [0, 0, 0], last.stderr
        assert whole.trace == last.trace
        assert any(row["skipped"] for row in whole.trace)
        assert whole.trace[-1]["updates"] > 2
        for name, array in whole.weights.items():
            assert array.tobytes() == last.weights[name].tobytes(), name
