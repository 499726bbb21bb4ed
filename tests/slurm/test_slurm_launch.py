"""Emitted job.sbatch files on a real SLURM of two nodes: they train, and go on where they were.

Traces of jobs that were interrupted are those of a job that was not, to the bit.

`make slurm` runs this. Without SLURM it is skipped.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.document import Recipe
from crosscast.recipe.versions import upgraded
from emission import goldens
from frameworks.subprocesses import environment, require
from slurm.cluster import missing, two_nodes
from slurm.test_slurm_sweep import RECIPE, say
from tiers import exhaustive

pytestmark = [exhaustive("jobs on a SLURM of two nodes"), pytest.mark.timeout(1800)]

TARGETS = [
    pytest.param(target, marks=getattr(pytest.mark, target))
    for target in ("torch", "paddle", "tensorflow")
]
LIMIT_SECONDS = 600.0
WINDOWS = 300
ALIKE = 60
"""Windows after which sums in another order may have grown into a difference."""
LAUNCH: dict[str, Any] = {"scheduler": "slurm", "partition": "debug", "memory_mib_per_node": 800}
REQUEUED = LAUNCH | {"max_requeues": 2, "signal_seconds": 10, "time_limit_minutes": 30}
LIMITED = {"time_limit_minutes": 2, "signal_seconds": 20}
"""SLURM sends the signal up to a minute earlier than it is asked to."""
TWO = {"strategy": "data_parallel", "nodes": 2, "processes_per_node": 1}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Mapping[str, str]]:
    if missing():
        pytest.skip(f"SLURM is not installed: no {', '.join(missing())}")
    # A short path: sockets lie in it.
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, two_nodes(Path(folder)) as found:
        yield found


def recipe(windows: int = WINDOWS, **sections: Any) -> Recipe:
    """Return the recipe of the sweeps with other sections, one epoch dividing into windows."""
    data = RECIPE["data"] | {"train_rows": 512}
    schedule = RECIPE["schedule"] | {"total_steps": windows}
    batch = {"micro_batch_size": 8, "global_batch_size": 32}
    steps = 2 if "distributed" in sections else 4
    given = RECIPE | {"data": data, "schedule": schedule, "batch": batch, **sections}
    given |= {"accumulation": {"steps": steps}, "loss_scaling": {"mode": "none"}}
    given["optimizer"] = {"name": "sgd", "learning_rate": 0.05}
    return Recipe.model_validate(upgraded(given))


class Runs:
    """A folder with rows, weights to start from, and the files of recipes."""

    def __init__(self, folder: Path, target: str, cluster: Mapping[str, str]) -> None:
        require(target)
        self.folder, self.target = folder, target
        own = environment(target)
        self.environment = {**cluster, **own, "SLURM_CONF": cluster["SLURM_CONF"]}
        self.environment |= {"PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
        self.call(
            *(sys.executable, "-m", "crosscast", "data", "nli-synthetic", "-o", "data"),
            *("--train-rows", "512", "--eval-rows", "128", "--sequence-length", "24"),
            *("--vocab-size", "512", "--seed", "7"),
        )

    def call(self, *command: str) -> str:
        say("$ " + " ".join(command))
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def write(self, name: str, recipe: Recipe) -> Path:
        (compiled,) = compile_recipe(recipe, [self.target])
        write_files(self.folder / name, compiled.files, manifest=False)
        return self.folder / name

    def alone(self, windows: int = WINDOWS) -> list[dict[str, Any]]:
        """Train in one process, from weights that are kept for the others."""
        script = self.write("alone", recipe(windows)) / "launch.sh"
        common = ("bash", str(script), "--device", "cpu", "--checkpoint-every", "10000")
        self.call(*common, "--windows", "1", "--output", "first")
        (self.folder / "first" / "model.safetensors").rename(self.folder / "start.safetensors")
        self.call(*common, "--output", "one", "--weights", "start.safetensors")
        return self.trace("one")

    def submit(self, name: str, recipe: Recipe, *flags: str) -> str:
        job = self.write(name, recipe) / "job.sbatch"
        given = ("--device", "cpu", "--output", name + "-out", "--weights", "start.safetensors")
        log = f"--output={name}.log"
        return self.call("sbatch", "--parsable", log, str(job), *given, *flags).strip()

    def trace(self, output: str) -> list[dict[str, Any]]:
        path = self.folder / output / "trace.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]

    def midway(self, name: str, windows: int) -> None:
        """Wait until a run has trained so many windows."""
        self.until(lambda: len(self.trace(name + "-out")) >= windows, f"{windows} windows", name)

    def state(self, job: str) -> tuple[str, str]:
        """Return what SLURM says of a job, and how often it was restarted."""
        command = ("scontrol", "--oneliner", "show", "job", job)
        told = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=True
        ).stdout
        found = dict(word.partition("=")[::2] for word in told.split() if "=" in word)
        return found["JobState"], found["Restarts"]

    def ended(self, job: str, name: str, state: str = "COMPLETED") -> None:
        """Wait for the end; a requeued job need not wait its two minutes."""

        def over() -> bool:
            told = self.hasten(job)
            return told not in ("PENDING", "RUNNING", "COMPLETING", "REQUEUED", "CONFIGURING")

        self.until(over, "the end", name)
        assert self.state(job)[0] == state, self.log(name)

    def hasten(self, job: str) -> str:
        """Start a job now that waits in the queue; return its state."""
        told, _ = self.state(job)
        if told == "PENDING":
            early = ("scontrol", "update", f"JobId={job}", "StartTime=now")
            subprocess.run(early, env=self.environment, capture_output=True, check=False)
        return told

    def mark(self, job: str, name: str) -> None:
        """Mark the trace of a job that waits for its second start."""
        self.until(lambda: self.state(job)[0] == "PENDING", "the queue", name)
        path = self.folder / f"{name}-out" / "trace.jsonl"
        first, _, rest = path.read_text().partition("\n")
        path.write_text(json.dumps(json.loads(first) | {"seen": True}) + "\n" + rest)

    def resumed(self, name: str) -> list[dict[str, Any]]:
        """Return a trace of which the second start kept the beginning, as resuming does."""
        rows = self.trace(f"{name}-out")
        assert rows[0].pop("seen", False), "trained from the start again"
        return rows

    def until(self, ready: Any, what: str, name: str) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not ready():
            assert time.monotonic() < deadline, f"waited in vain for {what}\n{self.log(name)}"
            time.sleep(0.5)

    def log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text()[-6000:] if path.exists() else "no log"


def same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Check that two traces are of the same training, whatever the processes add up in."""
    assert [row["window"] for row in found] == [row["window"] for row in expected]
    for key in ("rows", "lr", "updates", "skipped"):
        assert [row[key] for row in found] == [row[key] for row in expected], key
    for key in ("loss", "grad_norm"):
        first, second = (np.array([row[key] for row in rows]) for rows in (found, expected))
        np.testing.assert_allclose(first, second, rtol=2e-3, atol=1e-5, err_msg=key)


@pytest.fixture(scope="module", params=TARGETS)
def runs(
    request: pytest.FixtureRequest,
    cluster: Mapping[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Runs:
    return Runs(tmp_path_factory.mktemp(request.param), request.param, cluster)


@pytest.fixture(scope="module")
def alone(runs: Runs) -> list[dict[str, Any]]:
    return runs.alone()


@pytest.fixture(scope="module")
def undisturbed(runs: Runs, alone: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The trace of a job on two nodes that nothing happened to."""
    assert alone  # it leaves the weights to start from
    job = runs.submit("two", recipe(distributed=TWO, launch=LAUNCH))
    runs.ended(job, "two")
    return runs.trace("two-out")


def test_a_job_of_one_process_trains_as_launch_sh(runs: Runs, alone: list[dict[str, Any]]) -> None:
    job = runs.submit("single", recipe(launch=LAUNCH))
    runs.ended(job, "single")
    assert runs.trace("single-out") == alone


def test_two_nodes_train_as_one_process(
    undisturbed: list[dict[str, Any]], alone: list[dict[str, Any]]
) -> None:
    assert len(undisturbed) == len(alone) == WINDOWS
    same(undisturbed[:ALIKE], alone[:ALIKE])


def test_a_requeued_job_resumes_to_the_same_curve(
    runs: Runs, undisturbed: list[dict[str, Any]]
) -> None:
    slow = recipe(distributed=TWO, launch=REQUEUED)
    job = runs.submit("again", slow, "--checkpoint-every", "10")
    runs.midway("again", 15)
    runs.call("scontrol", "requeue", job)
    runs.mark(job, "again")
    runs.ended(job, "again")
    assert runs.state(job) == ("COMPLETED", "1")
    assert runs.resumed("again") == undisturbed


def test_a_job_out_of_time_saves_and_goes_on(runs: Runs, undisturbed: list[dict[str, Any]]) -> None:
    """What SLURM does before the time is up: the signal goes to the script, and to it alone."""
    slow = recipe(distributed=TWO, launch=REQUEUED)
    # Nothing but the signal writes a checkpoint before the last window.
    job = runs.submit("late", slow, "--checkpoint-every", "10000")
    runs.midway("late", 5)
    runs.call("scancel", "--batch", "--signal=USR1", job)
    checkpoint = runs.folder / "late-out" / "checkpoint.safetensors"
    runs.until(checkpoint.exists, "a checkpoint", "late")
    runs.mark(job, "late")
    runs.ended(job, "late")
    assert runs.state(job) == ("COMPLETED", "1")
    assert runs.resumed("late") == undisturbed


@pytest.mark.parametrize("runs", TARGETS[:1], indirect=True)
def test_the_time_limit_itself_puts_a_job_back(runs: Runs, alone: list[dict[str, Any]]) -> None:
    """SLURM's own clock: nothing else sends the signal or requeues the job."""
    assert alone
    endless = recipe(10**6, distributed=TWO, launch=REQUEUED | LIMITED)
    job = runs.submit("limit", endless, "--checkpoint-every", str(10**6))
    runs.midway("limit", 1)
    runs.mark(job, "limit")  # waits until it is back in the queue
    before = runs.trace("limit-out")
    assert (runs.folder / "limit-out" / "checkpoint.safetensors").exists()

    def again() -> bool:
        runs.hasten(job)
        return runs.state(job) == ("RUNNING", "1") and len(runs.trace("limit-out")) > len(before)

    # Rows after the checkpoint are trained again; there are fewer of them until then.
    runs.until(again, "more windows", "limit")
    runs.call("scancel", job)
    runs.until(lambda: runs.state(job)[0] == "CANCELLED", "the end", "limit")
    assert runs.trace("limit-out")[: len(before)] == before


def test_a_job_that_fails_is_not_put_back(runs: Runs, alone: list[dict[str, Any]]) -> None:
    assert alone
    job = runs.submit("fails", recipe(distributed=TWO, launch=REQUEUED), "--train", "none.npz")
    runs.ended(job, "fails", "FAILED")
    assert runs.state(job) == ("FAILED", "0")


def jobs() -> list[Path]:
    return sorted(goldens.FOLDER.glob("*/job.sbatch.txt"))


@pytest.mark.parametrize("kept", jobs(), ids=lambda path: path.parent.name)
def test_slurm_takes_every_kept_job(cluster: Mapping[str, str], kept: Path, tmp_path: Path) -> None:
    """This cluster has no partition `gpu`, no account and no GPUs; all else is asked as it is."""
    there_is_none = r"#SBATCH --(partition|account|gpus-per-node|mem|cpus-per-task)=.*\n"
    text = re.sub(there_is_none, "", kept.read_text())
    job = tmp_path / "job.sbatch"
    job.write_text(text)
    done = subprocess.run(
        ["sbatch", "--test-only", str(job)], env=dict(cluster), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "to start at" in done.stderr
    job.write_text(text.replace("#SBATCH --nodes=2", "#SBATCH --nodes=2 --no-such-option"))
    refused = subprocess.run(["sbatch", "--test-only", str(job)], env=dict(cluster), check=False)
    assert refused.returncode != 0
