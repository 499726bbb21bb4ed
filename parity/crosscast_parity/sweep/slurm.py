"""Cells as jobs of a SLURM cluster, submitted as arrays through submitit.

The cluster's nodes see the sweep's folder and the same Python. A job that SLURM puts back into the
queue (a node failed, a job of higher priority came, its time ran out) goes on from its cell's last
checkpoint. States come from squeue, which every cluster has; accounting is not needed.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.sweep.cell import run_cell
from crosscast_parity.sweep.executor import Ended, Executor, Resources

POLL_SECONDS = 5.0
ARRAY_SIZE = 1000
"""Most clusters take arrays of up to 1001 jobs."""
PATIENCE = 60
"""Polls in a row that squeue may fail before the sweep gives up."""
REQUEUES = 100
MINUTES = 60
"""A job that is not done by then is queued again and goes on."""
COMMAND_SECONDS = 60


class CellTask:
    """What a job runs; pickled by submitit."""

    def __init__(self, cell: str) -> None:
        self.cell = cell

    def __call__(self) -> str:
        """Train the cell and return how that ended."""
        return run_cell(Path(self.cell)).kind

    def checkpoint(self) -> Any:
        """Return the submission to queue again after SLURM revokes the node."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


class SlurmExecutor:
    """Submits cells as array jobs.

    Args:
        engine: submitit's executor, with all parameters set.
        poll: seconds between two looks at the queue.
    """

    def __init__(self, engine: Any, poll: float = POLL_SECONDS) -> None:
        self._engine = engine
        self._poll = poll
        self._waiting: list[Path] = []
        self._jobs: dict[str, Path] = {}
        self._failures = 0

    def submit(self, cell: Path) -> None:
        """Take a cell."""
        self._waiting.append(cell)

    def collect(self) -> Generator[Ended | None]:
        """Submit the cells and say which have left the queue.

        Raises:
            DiagnosticError: CC731 if sbatch refuses, or squeue does not respond for long.
        """
        try:
            while self._waiting or self._jobs:
                while self._waiting:
                    batch, self._waiting = self._waiting[:ARRAY_SIZE], self._waiting[ARRAY_SIZE:]
                    self._submit(batch)
                queued = self._queued()
                for job in [job for job in self._jobs if job not in queued]:
                    yield Ended(self._jobs.pop(job), _end_of(job))
                yield None
                if self._jobs and not self._waiting:
                    time.sleep(self._poll)
        finally:
            self._waiting.clear()
            if self._jobs:
                _ask(["scancel", *self._jobs])
                self._jobs.clear()

    def _submit(self, cells: list[Path]) -> None:
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        try:
            with self._engine.batch():
                jobs = [self._engine.submit(CellTask(str(cell))) for cell in cells]
        except (FailedJobError, FailedSubmissionError, OSError) as error:
            reasons = str(error).strip().splitlines()[-1:] or ["no reason given"]
            raise refuse(f"SLURM rejected the cells: {reasons[0]}") from None
        self._jobs |= {job.job_id: cell for job, cell in zip(jobs, cells, strict=True)}

    def _queued(self) -> set[str]:
        """Return the jobs that wait or run; all of ours if squeue cannot say."""
        answer = _ask(["squeue", "--me", "--noheader", "--array", "--format=%i"])
        self._failures = 0 if answer is not None else self._failures + 1
        if self._failures > PATIENCE:
            raise refuse("squeue does not respond", "the same command resumes the sweep later")
        return set(self._jobs) if answer is None else set(answer.split())


def _end_of(job: str) -> str:
    """Return SLURM's word for how a job ended, unless it ended well."""
    answer = _ask(["scontrol", "show", "job", "--oneliner", job]) or ""
    words = dict(word.partition("=")[::2] for word in answer.split())
    state = words.get("JobState", "")
    return "" if state in ("", "COMPLETED") else f"SLURM says {state} of job {job}"


def _ask(command: list[str]) -> str | None:
    """Return the output of a command of SLURM; None if it fails."""
    try:
        process = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout


def make(resources: Resources) -> Executor:
    """Return the executor.

    Raises:
        DiagnosticError: CC401 without submitit, CC731 without the commands of SLURM or with
            resources that submitit refuses.
    """
    try:
        import submitit
    except ModuleNotFoundError:
        raise DiagnosticError(
            Diagnostic(
                code="CC401",
                message="--executor slurm needs submitit",
                hint='pip install "crosscast[slurm]"',
            )
        ) from None
    missing = [name for name in ("sbatch", "srun", "squeue") if shutil.which(name) is None]
    if missing:
        raise refuse(f"{missing[0]} is not on the PATH", "run this on a login node of the cluster")
    engine = submitit.SlurmExecutor(folder=resources.folder, max_num_timeout=REQUEUES)
    try:
        engine.update_parameters(**_parameters(resources))
    except (TypeError, ValueError) as error:
        raise refuse(f"submitit rejects the resources: {str(error).splitlines()[0]}") from None
    return SlurmExecutor(engine)


def _parameters(resources: Resources) -> dict[str, Any]:
    options = {name: value if value else True for name, value in resources.options.items()}
    parameters: dict[str, Any] = {
        "job_name": "crosscast",
        "time": resources.minutes or MINUTES,
        "cpus_per_task": resources.cpus,
        # srun no longer takes it over from sbatch.
        "srun_args": [f"--cpus-per-task={resources.cpus}"],
        "additional_parameters": {"requeue": True} | options,
    }
    if resources.memory:
        parameters["mem"] = resources.memory
    if resources.partition:
        parameters["partition"] = resources.partition
    if resources.jobs is not None:
        parameters["array_parallelism"] = resources.jobs
    return parameters


def refuse(message: str, hint: str = "") -> DiagnosticError:
    """Return the error for what SLURM does not do."""
    return DiagnosticError(Diagnostic(code="CC731", message=message, hint=hint))
