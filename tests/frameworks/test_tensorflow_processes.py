"""Emitted TensorFlow scripts in two processes, started by the emitted launch.sh."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from frameworks.own_state_models import MODEL
from frameworks.two_processes import (
    CLIPPED,
    HALF_SUMS,
    HALF_WEIGHTS,
    KERAS2,
    LION,
    PARALLEL,
    SCALED,
    SECONDS,
    SGD,
    Case,
    Lab,
)
from tiers import cases, exhaustive

pytestmark = pytest.mark.tensorflow


TARGET = "tensorflow"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path, TARGET)


CASES: dict[str, Case] = {
    # It begins with the weights of its seed, and is traced three times as fast as BERT.
    "own model": Case(TARGET, MODEL | {"optimizer": SGD, "clipping": CLIPPED}),
    "SGD, clipped": Case(TARGET, {"optimizer": SGD, "clipping": CLIPPED}),
    "AdamW, by tokens, averaged": Case(
        TARGET, {"accumulation": {"normalize_by": "token"}, "ema": {"decay": 0.5}}
    ),
    # In every window the first process has full micro-batches, and the other one has not.
    "unequal shares": Case(TARGET, {"optimizer": SGD}, rows=15),
    # The softmax does not feel the bias of a key: Lion steps by the sign of rounding there.
    "Lion": Case(TARGET, {"optimizer": LION}, free="attention.self.key.bias"),
    "float16": Case(TARGET, SCALED, rel=5e-4, atol=5e-5),
    "Keras 2, float16": Case(KERAS2, SCALED, rel=5e-4, atol=5e-5),
    "half weights": Case(TARGET, SCALED | HALF_WEIGHTS, rel=5e-4, atol=5e-5),
    "half sums": Case(TARGET, SCALED | HALF_SUMS, rel=5e-4, atol=5e-5),
    "Keras 2, half weights": Case(KERAS2, SCALED | HALF_WEIGHTS, rel=5e-4, atol=5e-5),
}


@pytest.mark.parametrize(
    "name",
    cases(CASES, quick=["own model"], reason="BERT, optimizers and types over two processes"),
)
def test_two_processes_train_as_one(lab: Lab, name: str) -> None:
    lab.train_as_one(CASES[name])


@exhaustive("three runs of two processes, 48 seconds")
def test_two_processes_skip_and_resume_together(lab: Lab) -> None:
    lab.skip_and_resume()


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
