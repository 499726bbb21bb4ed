"""How the processes of a run are started. This section does not affect the results."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crosscast.recipe.section import Count, CountOrZero, Section

# A line of #SBATCH cannot be quoted: spaces, quotes, line ends and % (for file names) must not
# be in a name. SLURM accepts several partitions separated by commas.
SLURM_NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.,:+-]{0,127}$"
SlurmName = Annotated[str, Field(pattern=SLURM_NAME_PATTERN)]


class Launch(Section):
    """How the processes are started. This does not affect the training: scripts, checkpoints and
    `crosscast diff` ignore it. See docs/reference/launching.md."""

    scheduler: Literal["none", "slurm"] = "none"
    """`slurm`: also write job.sbatch, which runs launch.sh on every node of a job."""
    rendezvous: Literal["static", "elastic"] = "static"
    """`static`: every node gets a fixed rank. `elastic`: the nodes find each other, and failed
    processes are restarted from the last checkpoint (torchrun only)."""
    max_restarts: CountOrZero = 0
    """How often failed processes are restarted, with `elastic`."""
    time_limit_minutes: Count | None = None
    """Time limit of a job; default: that of the partition."""
    max_requeues: CountOrZero = 0
    """How often a job that reaches its time limit saves its state, is requeued and resumes. A job
    that fails or finishes is not requeued."""
    signal_seconds: Annotated[int, Field(ge=10, le=65535)] = 120
    """Time before its end at which the job is signaled to save its state, with `max_requeues`. A
    window and a checkpoint must fit into half of this time."""
    gpus_per_node: Count | None = None
    """Number of GPUs per node that a job requests; default: none."""
    cpus_per_process: Count | None = None
    """CPU cores per process that a job requests; also the number of OpenMP threads."""
    memory_mib_per_node: Count | None = None
    """Memory per node that a job requests, in MiB; default: that of the partition."""
    partition: SlurmName | None = None
    """Partition of the job, or several separated by commas: letters, digits and `_ . , : + -`."""
    account: SlurmName | None = None
    """Account to charge for the job; the same characters."""
