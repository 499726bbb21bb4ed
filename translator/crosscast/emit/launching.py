"""View data for the launch files: launch.sh and job.sbatch."""

from __future__ import annotations

from typing import Any

from crosscast.emit.frame import Frame
from crosscast.recipe.document import Launch
from crosscast.targets.backend import File

JOB = "job.sbatch"


def launch_view(frame: Frame) -> dict[str, Any]:
    """Return the view for starting a recipe's processes, which is equal for every framework."""
    launch = frame.launch
    requeues = launch.max_requeues > 0
    return {
        "nodes": frame.nodes,
        "each": frame.processes_per_node,
        "several": frame.nodes > 1,
        # Address of node 0; the framework's launcher distributes the rest.
        "one_address": frame.nodes > 1,
        "port_turn": "SLURM_JOB_ID",
        "last_node": frame.nodes - 1,
        "elastic": launch.rendezvous == "elastic",
        # Restarted with the same arguments every time.
        "first_flags": "--auto-resume " if launch.rendezvous == "elastic" else "",
        "requeues": requeues,
        "max_requeues": launch.max_requeues,
        "saving_seconds": launch.signal_seconds // 2,
        "threads": launch.cpus_per_process,
        "sbatch": _sbatch(frame),
    }


def job_files(frame: Frame, view: dict[str, Any]) -> tuple[File, ...]:
    """Return the file for the recipe's scheduler, if it has one."""
    if frame.launch.scheduler == "none":
        return ()
    return (File(path=JOB, template="_shared/job.sbatch.j2", view={"view": view}),)


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
