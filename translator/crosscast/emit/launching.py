"""What starts the processes of a script: launch.sh, and job.sbatch for a scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crosscast.emit.frame import Frame
from crosscast.recipe.document import Launch
from crosscast.targets.backend import File

JOB = "job.sbatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartView:
    """What the templates of launch.sh and job.sbatch see of the processes to start."""

    nodes: int
    each: int
    """Processes of a node."""
    elastic: bool
    """Whether the nodes find each other by a rendezvous."""
    max_requeues: int
    saving_seconds: int
    """How long a job that is out of time waits for its checkpoint."""
    threads: int | None
    """CPU threads of a process; None leaves it to the framework."""
    sbatch: tuple[str, ...]
    """Options of the job."""
    one_address: bool
    """Whether every node needs the address of node 0, and no other one."""
    port_turn: str = "SLURM_JOB_ID"
    """What the port of a job depends on, in shell arithmetic."""

    @property
    def several(self) -> bool:
        """Whether there are several nodes."""
        return self.nodes > 1

    @property
    def last_node(self) -> int:
        """The number of the last node; they count from 0."""
        return self.nodes - 1

    @property
    def first_flags(self) -> str:
        """Arguments before the user's: an elastic start repeats the same ones every time."""
        return "--auto-resume " if self.elastic else ""

    @property
    def requeues(self) -> bool:
        """Whether a job goes back into the queue."""
        return self.max_requeues > 0


def start_view(frame: Frame) -> StartView:
    """Return the view for starting a recipe's processes, which is equal for every framework."""
    launch = frame.launch
    return StartView(
        nodes=frame.nodes,
        each=frame.processes_per_node,
        one_address=frame.nodes > 1,  # the framework's launcher distributes the rest
        elastic=launch.rendezvous == "elastic",
        max_requeues=launch.max_requeues,
        saving_seconds=launch.signal_seconds // 2,
        threads=launch.cpus_per_process,
        sbatch=_sbatch(frame),
    )


def job_files(frame: Frame, context: Mapping[str, Any]) -> tuple[File, ...]:
    """Return the file for the recipe's scheduler, if it has one.

    Args:
        frame: The frame.
        context: What its template sees, which is what that of launch.sh sees.
    """
    if frame.launch.scheduler == "none":
        return ()
    return (File(path=JOB, template="_shared/job.sbatch.j2", view=context),)


def _sbatch(frame: Frame) -> tuple[str, ...]:
    """Return the options of a job. Every value is a number, a slug or a validated name, because a
    line of #SBATCH cannot be quoted."""
    launch, each = frame.launch, frame.processes_per_node
    cores = launch.cpus_per_process
    options = {
        "job-name": frame.name,
        "nodes": frame.nodes,
        "ntasks-per-node": 1,  # launch.sh, which starts the processes of its node
        "cpus-per-task": None if cores is None else cores * each,
        "gpus-per-node": launch.gpus_per_node,
        "mem": None if launch.memory_mib_per_node is None else f"{launch.memory_mib_per_node}M",
        "time": launch.time_limit_minutes,
        "partition": launch.partition,
        "account": launch.account,
        "output": "%x-%j.log",
    }
    return (*(f"--{k}={v}" for k, v in options.items() if v is not None), *_queue(launch))


def _queue(launch: Launch) -> tuple[str, ...]:
    if not launch.max_requeues:
        return ("--no-requeue",)
    # B: only the batch script receives the signal, and it requests a checkpoint.
    return ("--requeue", "--open-mode=append", f"--signal=B:USR1@{launch.signal_seconds}")
