"""The SLURM executor against stand-ins for submitit's engine and for squeue, scontrol, scancel.

tests/slurm runs it on a real SLURM.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.sweep import slurm
from crosscast_parity.sweep.executor import Ended, Resources
from crosscast_parity.sweep.prepare import Training, prepare
from crosscast_parity.sweep.slurm import CellTask, SlurmExecutor
from sweep_fakes import fake_compiler, points


@dataclass
class Job:
    job_id: str


class Engine:
    """Numbers the jobs as SLURM does and keeps what each would run."""

    def __init__(self) -> None:
        self.tasks: dict[str, CellTask] = {}
        self.batches: list[int] = []
        self.refusal = ""

    @contextmanager
    def batch(self) -> Iterator[None]:
        before = len(self.tasks)
        if self.refusal:
            from submitit.core.utils import FailedJobError

            raise FailedJobError(self.refusal)
        yield
        self.batches.append(len(self.tasks) - before)

    def submit(self, task: CellTask) -> Job:
        job = Job(f"{len(self.batches) + 1}_{len(self.tasks)}")
        self.tasks[job.job_id] = task
        return job


class Commands:
    """Answers of squeue and scontrol; keeps what scancel was given."""

    def __init__(self, queue: list[str | None]) -> None:
        self.queue = queue
        self.state = "COMPLETED"
        self.cancelled: list[str] = []

    def __call__(self, command: list[str]) -> str | None:
        if command[0] == "squeue":
            return self.queue.pop(0)
        if command[0] == "scancel":
            self.cancelled += command[1:]
            return ""
        assert command[:2] == ["scontrol", "show"]
        return f"JobId=7 JobState={self.state} Reason=None ExitCode=0:15"


def executor(
    monkeypatch: pytest.MonkeyPatch, queue: list[str | None]
) -> tuple[SlurmExecutor, Engine, Commands]:
    commands, engine = Commands(queue), Engine()
    monkeypatch.setattr(slurm, "_ask", commands)
    return SlurmExecutor(engine, poll=0.0), engine, commands


def test_cells_go_into_one_array_and_end_when_they_leave_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, engine, commands = executor(monkeypatch, ["1_0\n1_1\n", "1_1\n", ""])
    cells = [Path("a"), Path("b")]
    for cell in cells:
        ours.submit(cell)
    assert engine.tasks == {}  # submitted together, by collect
    assert list(ours.collect()) == [None, Ended(cells[0]), None, Ended(cells[1]), None]
    assert engine.batches == [2]
    assert commands.cancelled == []


def test_a_cancelled_job_says_so_and_may_be_submitted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, engine, commands = executor(monkeypatch, ["", "2_1\n", ""])
    commands.state = "CANCELLED"
    ours.submit(Path("a"))
    found = []
    for ended in ours.collect():
        if ended is not None:
            found.append(ended.problem)
            if len(found) == 1:
                ours.submit(ended.cell)
    assert found == ["SLURM says CANCELLED of job 1_0", "SLURM says CANCELLED of job 2_1"]
    assert engine.batches == [1, 1]


def test_closing_cancels_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, _, commands = executor(monkeypatch, ["1_0\n1_1\n"])
    ours.submit(Path("a"))
    ours.submit(Path("b"))
    endings = ours.collect()
    next(endings)
    endings.close()
    assert commands.cancelled == ["1_0", "1_1"]


def test_a_queue_that_does_not_answer_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, _, _ = executor(monkeypatch, [None, None, "1_0\n", None, ""])
    ours.submit(Path("a"))
    assert [ended for ended in ours.collect() if ended] == [Ended(Path("a"))]


def test_but_not_for_ever_and_its_jobs_are_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, _, commands = executor(monkeypatch, [None] * 100)
    ours.submit(Path("a"))
    with pytest.raises(DiagnosticError) as error:
        list(ours.collect())
    assert error.value.diagnostics[0].code == "CC731"
    assert commands.cancelled == ["1_0"]


def test_large_sweeps_are_several_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, engine, _ = executor(monkeypatch, [""])
    for number in range(2300):
        ours.submit(Path(str(number)))
    assert sum(ended is not None for ended in ours.collect()) == 2300
    assert engine.batches == [1000, 1000, 300]


def test_a_refused_submission_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, engine, _ = executor(monkeypatch, [])
    engine.refusal = "sbatch: error: noise\nsbatch: error: Invalid partition name specified"
    ours.submit(Path("a"))
    with pytest.raises(DiagnosticError, match="Invalid partition name"):
        list(ours.collect())


def test_a_task_trains_its_cell_and_queues_itself_again(tmp_path: Path) -> None:
    (cell,) = prepare(points(tmp_path, seeds=(1,)), tmp_path / "s", Training(), fake_compiler())
    task = CellTask(str(cell.folder))
    assert task() == "finished"
    again = task.checkpoint()
    assert again.function is task
    assert again.result() == "finished"


# the arguments of sbatch


@pytest.fixture
def fake_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with an sbatch that keeps its script, and empty other commands."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in ("sbatch", "srun", "squeue", "scontrol", "scancel"):
        script = bin_folder / name
        text = 'cp "$1" "$(dirname "$0")/../submitted.sh"; echo "Submitted batch job 41"\n'
        script.write_text("#!/bin/sh\n" + (text if name == "sbatch" else ""))
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    return tmp_path


def test_resources_become_options_of_sbatch(
    fake_slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = Resources(
        folder=fake_slurm / "executor",
        jobs=3,
        cpus=4,
        minutes=90,
        memory="6G",
        partition="long",
        options={"account": "lab", "exclusive": "", "gres": "gpu:1"},
    )
    ours = slurm.make(resources)
    assert isinstance(ours, SlurmExecutor)
    for name in ("a", "b", "c", "d"):
        ours.submit(Path(name))
    assert len([ended for ended in ours.collect() if ended]) == 4
    lines = set((fake_slurm / "submitted.sh").read_text().splitlines())
    assert {
        "#SBATCH --array=0-3%3",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --time=90",
        "#SBATCH --mem=6G",
        "#SBATCH --partition=long",
        "#SBATCH --account=lab",
        "#SBATCH --exclusive",
        "#SBATCH --gres=gpu:1",
        "#SBATCH --requeue",
    } <= lines
    (command,) = (line for line in lines if line.startswith("srun"))
    assert "--cpus-per-task=4" in command


def test_without_submitit_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(DiagnosticError) as error:
        slurm.make(Resources(folder=tmp_path))
    (diagnostic,) = error.value.diagnostics
    assert (diagnostic.code, diagnostic.hint) == ("CC401", 'pip install "crosscast[slurm]"')


def test_without_slurm_its_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DiagnosticError, match="sbatch is not on the PATH") as error:
        slurm.make(Resources(folder=tmp_path))
    assert error.value.diagnostics[0].code == "CC731"


def test_a_command_that_fails_gives_no_answer(fake_slurm: Path) -> None:
    ask: Any = slurm._ask
    assert ask(["sbatch", "/nowhere"]) is not None
    assert ask(["false"]) is None
    assert ask(["no-such-command"]) is None
