"""How the processes of a run are started. Nothing here changes what is computed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from crosscast.recipe.section import Count, CountOrZero, Section

# A line of #SBATCH cannot be quoted: no space, no quote, no line end and no % (a file name's) can
# be in a name. SLURM takes several partitions with commas between them.
SLURM_NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.,:+-]{0,127}$"
SlurmName = Annotated[str, Field(pattern=SLURM_NAME_PATTERN)]


class Launch(Section):
    """How the processes are started. It changes nothing of the training: scripts, checkpoints
    and `crosscast diff` do not know it. See docs/launching.md."""

    scheduler: Literal["none", "slurm"] = "none"
    """`slurm`: also write job.sbatch, which starts launch.sh on every node of a job."""
    rendezvous: Literal["static", "elastic"] = "static"
    """`static`: every node is given its number. `elastic`: the nodes find each other, and failed
    processes are started anew, from the last checkpoint (torchrun only)."""
    max_restarts: CountOrZero = 0
    """How often failed processes are started anew; for `elastic`."""
    time_limit_minutes: Count | None = None
    """Longest time of a job; the partition's own where nothing is said."""
    max_requeues: CountOrZero = 0
    """How often a job that runs out of time saves its state, goes back into the queue and resumes.
    A job that fails or ends does not."""
    signal_seconds: Annotated[int, Field(ge=10, le=65535)] = 120
    """So long before its end the job is told to save; for `max_requeues`. A window and a checkpoint
    must fit into half of it."""
    gpus_per_node: Count | None = None
    """GPUs that a job asks for; none where nothing is said."""
    cpus_per_process: Count | None = None
    """CPU cores that a job asks for, for each process; also its number of OpenMP threads."""
    memory_mib_per_node: Count | None = None
    """Memory that a job asks for, in MiB; the partition's own where nothing is said."""
    partition: SlurmName | None = None
    """Partition of the job, or several with commas: letters, digits and `_ . , : + -`."""
    account: SlurmName | None = None
    """Account that pays for the job; the same letters."""
