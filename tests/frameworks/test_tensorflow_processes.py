"""Emitted TensorFlow scripts in two processes, started by the emitted launch.sh."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crosscast.recipe.document import BertModel
from crosscast_parity.inputs.weights import bert_weights, save
from frameworks.emitted_script import FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.own_state_models import MODEL, SOURCES
from frameworks.same_training import same_training
from frameworks.script_runs import Run, calls
from frameworks.subprocesses import completed, environment, warm
from tiers import cases, exhaustive

pytestmark = pytest.mark.tensorflow

PARALLEL: dict[str, Any] = {
    "distributed": {"strategy": "data_parallel", "processes_per_node": 2},
}
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

    sections: dict[str, Any]
    target: str = "tensorflow"
    rel: float = 1e-5
    atol: float = 1e-6
    free: str = "-"
    rows: int = 44

    @property
    def framework(self) -> str:
        """The package that must be installed."""
        return "tensorflow" if self.target == "tensorflow" else "tf_keras"


class Lab:
    """Scripts below a folder, and the same small data for all of them: windows of 16, 16, 12."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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

    def script(self, name: str, target: str = "tensorflow", /, **sections: Any) -> Path:
        script = emit(tiny_recipe(**sections), target, self.folder / name) / "train.py"
        if "model" in sections:
            script.with_name("net.py").write_text(SOURCES["tensorflow"])
        return script

    def alone(self, script: Path, framework: str, *flags: object) -> Run:
        """The run of one process."""
        (run,) = calls(script, framework, [(script.parent / "out", (*self.flags, *flags))])
        return run

    def start(self, *command: object, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            list(map(str, command)),
            env=environment() | {"PYTHON": warm("tensorflow", harness=False)} | env,
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


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


CASES: dict[str, Case] = {
    # It begins with the weights of its seed, and is traced three times as fast as BERT.
    "own model": Case(MODEL | {"optimizer": SGD, "clipping": CLIPPED}),
    "SGD, clipped": Case({"optimizer": SGD, "clipping": CLIPPED}),
    "AdamW, by tokens, averaged": Case(
        {"accumulation": {"normalize_by": "token"}, "ema": {"decay": 0.5}}
    ),
    # In every window the first process has full micro-batches, and the other one has not.
    "unequal shares": Case({"optimizer": SGD}, rows=15),
    # The softmax does not feel the bias of a key: Lion steps by the sign of rounding there.
    "Lion": Case({"optimizer": LION}, free="attention.self.key.bias"),
    "float16": Case(SCALED, rel=5e-4, atol=5e-5),
    "Keras 2, float16": Case(SCALED, target=KERAS2, rel=5e-4, atol=5e-5),
    "half weights": Case(SCALED | HALF_WEIGHTS, rel=5e-4, atol=5e-5),
    "half sums": Case(SCALED | HALF_SUMS, rel=5e-4, atol=5e-5),
    "Keras 2, half weights": Case(SCALED | HALF_WEIGHTS, target=KERAS2, rel=5e-4, atol=5e-5),
}


@pytest.mark.parametrize(
    "name",
    cases(CASES, quick=["own model"], reason="BERT, optimizers and types over two processes"),
)
def test_two_processes_train_as_one(lab: Lab, name: str) -> None:
    case = CASES[name]
    write_rows(lab.folder / "train.npz", case.rows)
    script = lab.script("one", case.target, **case.sections)
    two = lab.script("two", case.target, **case.sections, **PARALLEL)
    flags = lab.windows if "model" in case.sections else lab.short
    single = lab.alone(script, case.framework, *flags)
    double = lab.launch(two, "out", *flags)
    assert (single.code, double.code) == (0, 0), single.traceback + double.stderr
    same_training(single, double, rel=case.rel, atol=case.atol, free=case.free)
    if "loss_scaling" in case.sections:
        assert len({row["scale"] for row in double.trace}) > 1


@exhaustive("three runs of two processes, 48 seconds")
def test_two_processes_skip_and_resume_together(lab: Lab) -> None:
    scaled = {"precision": FLOAT16, "loss_scaling": DYNAMIC}
    model = TINY["model"] | {"dropout": 0.1}
    script = lab.script("run", model=model, **scaled, **PARALLEL)
    whole = lab.launch(script, "whole", "--windows", 12)
    part = lab.launch(script, "parts", "--windows", 5)
    last = lab.launch(script, "parts", "--windows", 12, "--resume")
    assert [run.code for run in (whole, part, last)] == [0, 0, 0], last.stderr
    assert whole.trace == last.trace
    assert any(row["skipped"] for row in whole.trace)
    assert whole.trace[-1]["updates"] > 2
    for name, array in whole.weights.items():
        assert array.tobytes() == last.weights[name].tobytes(), name


@exhaustive("what wrong starts of two processes say")
def test_a_script_for_two_processes_wants_two(lab: Lab) -> None:
    script = lab.script("run", **PARALLEL)
    output = script.parent / "out"
    three = {"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": 0}}
    for env in ({}, {"TF_CONFIG": json.dumps(three)}, {"TF_CONFIG": "{"}):
        command = (sys.executable, script, *lab.flags, "--output", output)
        run = lab.end(lab.start(*command, **env), output)
        assert run.code == 2, run.stderr
        assert "made for 2 processes: start launch.sh" in run.stderr
        assert run.status["exit_code"] == 2


def hasty(script: Path) -> Path:
    """Let a script wait for the others for 3 seconds only."""
    module = script.parent / "runtime" / "processes.py"
    text = module.read_text()
    assert text.count("START_SECONDS = 180") == 1
    module.write_text(text.replace("START_SECONDS = 180", "START_SECONDS = 3"))
    return script


def tf_config(rank: int, *addresses: str) -> str:
    task = {"type": "worker", "index": rank}
    return json.dumps({"cluster": {"worker": addresses}, "task": task})


@exhaustive("a process whose peer never comes, 15 seconds")
def test_a_process_whose_peer_never_comes_says_so(lab: Lab) -> None:
    script = hasty(lab.script("run", **PARALLEL))
    held = socket.create_server(("127.0.0.1", 0))
    taken = f"127.0.0.1:{held.getsockname()[1]}"
    lonely = free_address(), free_address()
    output = script.parent / "out"
    command = (sys.executable, script, *lab.flags, "--output", output)
    alone = lab.end(lab.start(*command, TF_CONFIG=tf_config(0, *lonely)), output)
    words = f"failed: no process of the run came to {lonely[1]} in 3 seconds"
    assert (alone.code, alone.status["message"]) == (1, words.removeprefix("failed: "))
    assert words in alone.stderr
    assert "Traceback" not in alone.stderr
    with held:
        busy = lab.end(lab.start(*command, TF_CONFIG=tf_config(0, taken, lonely[1])), output)
    assert busy.code == 2
    assert busy.status["message"].startswith(f"cannot listen on {taken}")


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


BUILD = "    strategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
FALL = """\
    if run.rank:
        os._exit(9)
"""


@exhaustive("a process that hears no signal, 25 seconds")
def test_launch_sh_ends_a_process_that_hears_no_signal(lab: Lab) -> None:
    # Where the other one falls behind the meeting, TensorFlow waits for it, deaf.
    script = lab.script("run", **PARALLEL)
    text = script.read_text()
    assert text.count(BUILD) == 1
    script.write_text(text.replace(BUILD, FALL + BUILD))
    since = time.monotonic()
    run = lab.launch(script, "out")
    assert run.code == 9
    assert time.monotonic() - since < 240


@exhaustive("what wrong data of two processes says")
def test_wrong_data_ends_all_processes(lab: Lab) -> None:
    run = lab.launch(lab.script("run", **PARALLEL), "out", "--train", lab.folder / "none 1.npz")
    assert run.code == 2
    assert run.stderr.count("failed: cannot read") == 1
    assert "none 1.npz" in run.status["message"]


def worker(group: int, index: int) -> int:
    """Number of the process of a group that TF_CONFIG calls the index-th."""
    for folder in Path("/proc").glob("[0-9]*"):
        number = int(folder.name)
        try:
            if os.getpgid(number) != group or b"train.py" not in (folder / "cmdline").read_bytes():
                continue
            variables = (folder / "environ").read_bytes().split(b"\0")
        except (OSError, ProcessLookupError):
            continue
        (config,) = [v for v in variables if v.startswith(b"TF_CONFIG=")] or [b""]
        if config.endswith(f'"index": {index}}}}}'.encode()):
            return number
    raise AssertionError("no such process")


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@exhaustive("a killed process, 12 seconds")
@pytest.mark.parametrize("killed", [0, 1])
def test_the_end_of_one_process_ends_the_other(lab: Lab, killed: int) -> None:
    script = lab.script("run", schedule={"name": "constant", "total_steps": 10**6}, **PARALLEL)
    output = script.parent / "out"
    process = lab.start(script.with_name("launch.sh"), *lab.flags, "--output", output)
    trace, deadline = output / "trace.jsonl", time.monotonic() + SECONDS
    while not (trace.exists() and trace.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.5)
    os.kill(worker(process.pid, killed), signal.SIGKILL)
    since = time.monotonic()
    run = lab.end(process, output)
    assert run.code == 128 + signal.SIGKILL
    assert time.monotonic() - since < 60
    if killed:
        assert run.status["exit_code"] == 1
        lost = "another process has ended, or cannot be reached: "
        assert run.status["message"].startswith(lost)
