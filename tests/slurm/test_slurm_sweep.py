"""A sweep on a real SLURM of two nodes: cells killed in the middle go on, results stay the same.

`make slurm` runs this and shows what happens. Without SLURM it is skipped.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import require
from slurm.cluster import missing, two_nodes
from tiers import exhaustive

pytestmark = [
    pytest.mark.torch,
    pytest.mark.paddle,
    exhaustive("cells of a sweep as jobs of a SLURM of two nodes"),
    pytest.mark.timeout(1800),
]

RECIPE: dict[str, Any] = {
    "version": 1,
    "name": "slurm",
    "seed": 7,
    "model": {
        "kind": "bert",
        "layers": 2,
        "hidden_size": 64,
        "attention_heads": 2,
        "intermediate_size": 256,
        "vocab_size": 512,
        "max_positions": 32,
        "labels": 3,
        "dropout": 0.0,
    },
    "data": {"source": "synthetic", "sequence_length": 24, "train_rows": 500, "eval_rows": 128},
    "batch": {"micro_batch_size": 8, "global_batch_size": 32},
    "optimizer": {"name": "adamw", "learning_rate": 1e-3},
    "schedule": {"name": "linear", "warmup_steps": 20, "total_steps": 120},
}
SAME = ("kind", "windows", "updates", "skipped", "train_loss_tail", "eval_loss", "eval_accuracy")
EXACT = ("trace_sha256", "weights_sha256")
LIMIT_SECONDS = 600.0


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Mapping[str, str]]:
    if missing():
        pytest.skip(f"SLURM is not installed: no {', '.join(missing())}")
    require("submitit")
    require("torch")
    require("paddle")
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:  # short: sockets lie in it
        with two_nodes(Path(folder)) as environment:
            nodes = subprocess.run(
                ["sinfo", "--Node", "--long"],
                env=dict(environment),
                capture_output=True,
                text=True,
                check=True,
            )
            say(f"two nodes on one host\n{nodes.stdout.strip()}")
            yield environment
        say("the cluster is down")


class Sweep:
    """One `crosscast sweep` in a process of its own, and a look at its cells."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *flags: str) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self.command = [
            *(sys.executable, "-m", "crosscast", "sweep", str(folder.parent / "recipe.yaml")),
            *("--to", "torch,paddle", "--seeds", "0-1", "--checkpoint-every", "10"),
            *("--output", str(folder), *flags),
        ]

    def start(self) -> subprocess.Popen[str]:
        say("$ crosscast " + " ".join(self.command[3:]))
        return subprocess.Popen(
            self.command,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, process: subprocess.Popen[str], *, code: int = 0) -> str:
        output, _ = process.communicate(timeout=LIMIT_SECONDS)
        print(output, flush=True)
        assert process.returncode == code, output
        return output

    def rows(self) -> dict[tuple[str, str], dict[str, str]]:
        with (self.folder / "sweep.csv").open(newline="") as stream:
            return {(row["target"], row["seed"]): row for row in csv.DictReader(stream)}

    def cell(self, target: str, seed: int) -> Path | None:
        return next(self.folder.glob(f"cells/slurm.{target}.seed-{seed}.*"), None)

    def midway(self, target: str, seed: int) -> tuple[int, str]:
        """Wait until a cell has a checkpoint and trains; return its worker and its job."""

        def find() -> tuple[int, str] | None:
            cell = self.cell(target, seed)
            if cell is None or (cell / "result.json").exists():
                return None
            trace = cell / "output" / "trace.jsonl"
            if not trace.exists() or trace.read_bytes().count(b"\n") < 15:
                return None
            worker = int((cell / "lock").read_text().split()[1])
            return worker, job_of(worker)

        return wait(find, f"{target} seed {seed} to be half-way")

    def call(self, *command: str) -> None:
        say("$ " + " ".join(command))
        subprocess.run(command, env=self.environment, check=True)


def job_of(worker: int) -> str:
    raw = Path(f"/proc/{worker}/environ").read_bytes().split(b"\0")
    environment = dict(item.decode().partition("=")[::2] for item in raw if item)
    return f"{environment['SLURM_ARRAY_JOB_ID']}_{environment['SLURM_ARRAY_TASK_ID']}"


def children(process: int) -> list[int]:
    return [
        int(word)
        for task in Path(f"/proc/{process}/task").iterdir()
        for word in (task / "children").read_text().split()
    ]


def wait(find: Callable[[], tuple[int, str] | None], what: str) -> tuple[int, str]:
    deadline = time.monotonic() + LIMIT_SECONDS
    while (found := find()) is None:
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


def test_killed_cells_resume_to_the_results_of_the_local_executor(
    cluster: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "recipe.yaml").write_text(json.dumps(RECIPE))
    flags = ("--executor", "slurm", "--partition", "debug", "--time", "10", "--jobs", "2")
    local = Sweep(tmp_path / "local", cluster, "--jobs", "2")
    local.end(local.start())
    ours = Sweep(tmp_path / "slurm", cluster, *flags)
    process = ours.start()
    try:
        _, job = ours.midway("torch", 0)
        ours.call("scancel", job)
        worker, _ = ours.midway("paddle", 0)
        (training,) = children(worker)
        say(f"$ kill -KILL {training}   # the training of paddle seed 0")
        os.kill(training, signal.SIGKILL)
        _, job = ours.midway("torch", 1)
        ours.call("scontrol", "requeue", job)
        _, job = ours.midway("paddle", 1)
        ours.call("scancel", "--signal=USR2", job)  # as before its time is out, or on preemption
        time.sleep(3)
    finally:
        process.kill()
        process.communicate()
    say("$ kill -KILL the sweep itself, and call it again: it goes on")
    output = ours.end(ours.start())
    assert "4/4" in output
    expected, found = local.rows(), ours.rows()
    assert found.keys() == expected.keys()
    for key, row in found.items():
        for name in (*SAME, *EXACT):
            assert row[name] == expected[key][name], (key, name)
        say(f"{key[0]} seed {key[1]}: {row['attempts']} attempts, equal to the bit")
    assert all(int(row["attempts"]) > 1 for row in found.values())
    started = time.monotonic()
    output = ours.end(ours.start())
    assert "4 cells, 4 done before" in output
    say(f"a third call takes {time.monotonic() - started:.1f} s and submits nothing")


def test_a_partition_that_is_not_there_is_one_message(
    cluster: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "recipe.yaml").write_text(json.dumps(RECIPE))
    sweep = Sweep(tmp_path / "out", cluster, "--executor", "slurm", "--partition", "nowhere")
    output = sweep.end(sweep.start(), code=1)
    assert "CC731" in output
    assert "invalid partition" in output
    assert "Traceback" not in output
