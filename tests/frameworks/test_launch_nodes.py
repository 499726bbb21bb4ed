"""launch.sh on two nodes: two of them on this host, which find each other on the loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.recipe.document import BertModel
from crosscast_parity.inputs.weights import bert_weights, save
from frameworks.emitted_script import emit, tiny_recipe, write_rows
from frameworks.script_runs import calls
from frameworks.subprocesses import environment, kill, require
from tiers import cases, exhaustive

pytestmark = [pytest.mark.timeout(900)]

TWO_NODES: dict[str, Any] = {
    "distributed": {"strategy": "data_parallel", "nodes": 2, "processes_per_node": 1}
}
BATCH: dict[str, Any] = {"batch": {"micro_batch_size": 2, "global_batch_size": 16}}
NORM: dict[str, Any] = {"clipping": {"kind": "global_norm", "max_norm": 0.3}}
LIMIT_SECONDS = 400.0
TARGETS = [
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("paddle", marks=pytest.mark.paddle),
    pytest.param("tensorflow", marks=pytest.mark.tensorflow),
    pytest.param("jax", marks=pytest.mark.jax),
]


def free_ports() -> str:
    """Return the first of two free ports next to each other."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as held:
            first = int(held.getsockname()[1])
            try:
                socket.create_server(("127.0.0.1", first + 1)).close()
            except (OSError, OverflowError):
                continue
            return str(first)


class Nodes:
    """A folder with rows, and scripts that are started in it."""

    def __init__(self, folder: Path, target: str) -> None:
        require(target)
        self.folder, self.target = folder, target
        rows = write_rows(folder / "train.npz", 44), write_rows(folder / "eval.npz", 10, seed=1)
        self.flags = ("--train", rows[0], "--eval", rows[1], "--device", "cpu")

    def emitted(self, name: str, **sections: Any) -> Path:
        return emit(tiny_recipe(**sections), self.target, self.folder / name) / "launch.sh"

    def start(self, launch: Path, *flags: object, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", str(launch), *map(str, (*self.flags, *flags))],
            cwd=self.folder,
            env=environment() | {"PYTHON": sys.executable, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def both(self, launch: Path, *flags: object, **variables: str) -> list[subprocess.Popen[str]]:
        """Start two nodes; the second one first, as it may happen."""
        where = {"HOSTS": "127.0.0.1,127.0.0.1"}  # TensorFlow wants the addresses of all
        if self.target != "tensorflow":
            where = {"MASTER_ADDR": "127.0.0.1"}
        given = {"MASTER_PORT": free_ports(), **where, **variables}
        return [self.start(launch, *flags, NODE_RANK=rank, **given) for rank in ("1", "0")]

    def end(self, *processes: subprocess.Popen[str]) -> list[str]:
        outputs = []
        try:
            for process in processes:
                outputs.append(process.communicate(timeout=LIMIT_SECONDS)[0])
        finally:
            for process in processes:
                kill(process)
        assert [process.returncode for process in processes] == [0] * len(processes), outputs
        return outputs

    def alone(self, windows: int, **sections: Any) -> list[dict[str, Any]]:
        """Train in one process from weights that the others begin with, too."""
        model = tiny_recipe().model
        assert isinstance(model, BertModel)
        save(self.folder / "start.safetensors", bert_weights(model, 3, 0.02))
        script = self.emitted("single", **sections).with_name("train.py")
        output = self.folder / "alone"
        flags = ("--weights", self.folder / "start.safetensors", "--windows", windows)
        (run,) = calls(script, self.target, [(output, (*self.flags, *flags))])
        assert run.code == 0, run.stderr
        return self.trace("alone")

    def trace(self, output: str) -> list[dict[str, Any]]:
        path = self.folder / output / "trace.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    for key in ("window", "rows", "lr", "updates", "skipped"):
        assert [row[key] for row in found] == [row[key] for row in expected], key
    for key in ("loss", "grad_norm"):
        first, second = (np.array([row[key] for row in rows]) for rows in (found, expected))
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6, err_msg=key)


@pytest.fixture
def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> Nodes:
    return Nodes(tmp_path, request.param)


@pytest.mark.parametrize(
    "nodes",
    cases(TARGETS, quick=[], reason="two nodes; `make test` has two processes of one node"),
    indirect=True,
)
@pytest.mark.parametrize(
    "stopped", cases([False, True], quick=[False], reason="two nodes that stop and resume")
)
def test_two_nodes_train_as_one_process(nodes: Nodes, stopped: bool) -> None:
    expected = nodes.alone(10, **NORM)
    launch = nodes.emitted("two", **TWO_NODES, **BATCH, **NORM)
    common = ("--output", "out", "--weights", "start.safetensors")
    stop: tuple[object, ...] = ("--windows", 6)
    for flags in [stop, ("--resume",)] if stopped else [()]:
        outputs = nodes.end(*nodes.both(launch, "--windows", 10, *common, *flags))
        assert "".join(outputs).count("finished: {") == 1
    same(nodes.trace("out"), expected)


@exhaustive("nodes that find each other")
@pytest.mark.torch
@pytest.mark.parametrize("nodes", ["torch"], indirect=True)
def test_nodes_that_find_each_other_train_as_one_process(nodes: Nodes) -> None:
    expected = nodes.alone(10, **NORM)
    launch = nodes.emitted(
        "two", **TWO_NODES, **BATCH, **NORM, launch={"rendezvous": "elastic", "max_restarts": 2}
    )
    common = ("--output", "out", "--weights", "start.safetensors")
    for more in (("--windows", 6), ("--windows", 10)):  # launch.sh resumes by itself
        nodes.end(*nodes.both(launch, *common, *more))
    same(nodes.trace("out"), expected)


LATE = """\
if process_rank() == 1 and (args.output / "checkpoint.safetensors").exists():
    import time
    time.sleep(20.0)
"""
MEETING = re.compile(r"^( *)torch\.distributed\.init_process_group\(", re.MULTILINE)


def number(rank: str, mark: str) -> int:
    """Number of the process of a rank, among those that were started with a mark."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            found = (path / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if f"RUN_OF_THIS_TEST={mark}" in found and f"RANK={rank}" in found:
            return int(path.name)
    raise AssertionError("no such process")


@exhaustive("a killed process on one of two nodes")
@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("nodes", ["torch"], indirect=True)
def test_nodes_start_anew_after_a_process_was_killed(nodes: Nodes) -> None:
    """The killed one comes late to the second meeting: the other must not meet its old self."""
    launch = nodes.emitted(
        "two", **TWO_NODES, **BATCH, launch={"rendezvous": "elastic", "max_restarts": 2}
    )
    common = ("--windows", 40, "--checkpoint-every", 2)
    nodes.end(*nodes.both(launch, *common, "--output", "whole"))
    script = launch.parent / "runtime" / "device.py"
    text = script.read_text()
    (meeting,) = MEETING.finditer(text)
    late = textwrap.indent(LATE, meeting[1])
    script.write_text(f"{text[: meeting.start()]}{late}{text[meeting.start() :]}")
    started = nodes.both(launch, *common, "--output", "out", RUN_OF_THIS_TEST=str(nodes.folder))
    deadline = time.monotonic() + LIMIT_SECONDS
    while len(nodes.trace("out")) < 5:
        assert time.monotonic() < deadline
        assert all(process.poll() is None for process in started), nodes.end(*started)
        time.sleep(0.05)
    os.kill(number("1", str(nodes.folder)), signal.SIGKILL)
    outputs = nodes.end(*started)
    assert "failed (exitcode: -9)" in "".join(outputs)
    assert nodes.trace("out") == nodes.trace("whole")
