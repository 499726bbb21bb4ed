"""The section `launch` is read back from emitted files, and from nothing else."""

from __future__ import annotations

from functools import cache

import pytest

from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast.recipe.launch import Launch
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift
from crosscast_reading.readers.shell.reader import READER
from lift_round_trip import emitted
from recipe_texts import recipe_of
from tiers import cases

FILES = (".py", ".sh", ".sbatch")
TWO_NODES = "{strategy: data_parallel, nodes: 2, processes_per_node: 2}"
ONE_NODE = "{strategy: data_parallel, processes_per_node: 2}"
ASKS = "time_limit_minutes: 240, gpus_per_node: 4, memory_mib_per_node: 64000"
NAMES = "cpus_per_process: 2, partition: 'gpu,x', account: a1"
LAUNCHES = {
    "none": "{}",
    "plain": "{scheduler: slurm}",
    "asks": f"{{scheduler: slurm, {ASKS}, {NAMES}}}",
    "requeues": "{scheduler: slurm, time_limit_minutes: 9, max_requeues: 5, signal_seconds: 90}",
    "elastic": "{rendezvous: elastic}",
    "both": f"{{scheduler: slurm, rendezvous: elastic, max_restarts: 3, max_requeues: 2, {ASKS}}}",
}


def made(launch: str, distributed: str = TWO_NODES) -> Recipe:
    return recipe_of(launch=launch, distributed=distributed)


@cache
def sources_of(launch: str, target: str = "torch", distributed: str = TWO_NODES) -> list[Source]:
    found = emitted(made(launch, distributed), target, FILES)
    assert found is not None
    return found


def read(sources: list[Source]) -> Recipe:
    lifted = lift(analyse(sources))
    assert lifted.recipe is not None, lifted.diagnostics
    return lifted.recipe


STARTS = [
    ("torch", TWO_NODES),
    ("torch", ONE_NODE),
    ("paddle", TWO_NODES),
    ("tensorflow", ONE_NODE),
    ("torch", "{strategy: none}"),
]
ELASTIC = ("elastic", "both")  # for several processes of PyTorch: CC220, CC328, CC384
CASES = [
    (name, target, distributed)
    for name in LAUNCHES
    for target, distributed in STARTS
    if name not in ELASTIC or (target == "torch" and "none" not in distributed)
]


QUICK = [case for case in CASES if case[1:] == STARTS[0] or case[0] == "asks"]
"""Every section for PyTorch on two nodes, and one that asks for much for every other start."""


@pytest.mark.parametrize(
    ("name", "target", "distributed"),
    cases(CASES, quick=QUICK, reason="more sections with more starts"),
)
def test_what_was_compiled_is_read_back(name: str, target: str, distributed: str) -> None:
    recipe = made(LAUNCHES[name], distributed)
    found = read(sources_of(LAUNCHES[name], target, distributed))
    assert found.launch == recipe.launch
    assert found.distributed == recipe.distributed
    assert found.batch == recipe.batch


def test_an_edited_job_says_what_it_says_now() -> None:
    edits = {"--time=240": "--time=60", ">= 2": ">= 7", "--mem=64000M": "--mem=8G"}
    sources = []
    for source in sources_of(LAUNCHES["both"]):
        text = source.text
        for old, new in edits.items():
            assert source.name[-6:] != "sbatch" or old in text
            text = text.replace(old, new)
        sources.append(Source(source.name, text))
    found = read(sources).launch
    assert (found.time_limit_minutes, found.max_requeues, found.memory_mib_per_node) == (
        60,
        7,
        8192,
    )


@pytest.mark.parametrize(
    "edits",
    [
        {
            "time_limit_minutes": ("--time=240", "--time=4:00:00"),
            "memory_mib_per_node": ("--mem=64000M", "--mem=64T"),
            "partition": ("--partition=gpu,x", "--partition=$WHERE"),
            "account": ("--account=a1", "--account='a 1'"),
            "gpus_per_node": ("--gpus-per-node=4", "--gpus-per-node=a100:4"),
            "cpus_per_process": ("export OMP_NUM_THREADS=2", "export OMP_NUM_THREADS=$N"),
        },
        {
            "time_limit_minutes": ("--time=240\n", "--time\n"),
            "gpus_per_node": ("--gpus-per-node=4\n", "--gpus-per-node\n"),
            "partition": ("--partition=gpu,x\n", "--partition\n"),
            "cpus_per_process": ("#SBATCH --cpus-per-task", "##SBATCH --cpus-per-task"),
        },
        {
            "time_limit_minutes": ("#SBATCH --time", "##SBATCH --time"),
            "memory_mib_per_node": ("#SBATCH --mem=64000M\n", ""),
            "cpus_per_process": ("#SBATCH --cpus-per-task=4\n", ""),
        },
        {"time_limit_minutes": ("#SBATCH --time=240", "true\n#SBATCH --time=240")},
    ],
    ids=["values", "no values", "no options", "after a command"],
)
def test_what_is_not_understood_is_left_out(edits: dict[str, tuple[str, str]]) -> None:
    texts = {source.name: source.text for source in sources_of(LAUNCHES["asks"])}
    for old, new in edits.values():
        assert any(old in text for text in texts.values())
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    found = read([Source(name, text) for name, text in texts.items()]).launch
    assert found.scheduler == "slurm"
    for field in edits:
        assert getattr(found, field) == getattr(Launch(), field), field


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#SBATCH --requeue\n", ""),
        ("--signal=B:USR1@90", "--signal=TERM@90"),
        ("#SBATCH --signal=B:USR1@90\n", ""),
        ("SLURM_RESTART_COUNT:-0} >= 5", "SLURM_RESTART_COUNT:-0} >= MOST"),
    ],
)
def test_a_job_that_does_not_go_back_into_the_queue(old: str, new: str) -> None:
    sources = sources_of(LAUNCHES["requeues"])
    assert any(old in source.text for source in sources)
    found = read([Source(source.name, source.text.replace(old, new)) for source in sources]).launch
    assert (found.scheduler, found.time_limit_minutes) == ("slurm", 9)
    assert (found.max_requeues, found.signal_seconds) == (0, Launch().signal_seconds)


def test_an_elastic_start_without_a_rendezvous_is_none() -> None:
    sources = sources_of(LAUNCHES["elastic"])
    texts = {s.name: s.text.replace("--rdzv-backend c10d", "--rdzv-backend etcd") for s in sources}
    assert texts != {source.name: source.text for source in sources}
    start = next(Source(name, text) for name, text in texts.items() if name.endswith("launch.sh"))
    assert READER.read(start).commands
    assert read([Source(name, text) for name, text in texts.items()]).launch == Launch()


def test_scripts_of_ones_own_claim_nothing() -> None:
    """The same lines of #SBATCH over another start are no section `launch`."""
    sources = sources_of(LAUNCHES["both"])
    python = [source for source in sources if source.name.endswith(".py")]
    job = next(source for source in sources if source.name.endswith("job.sbatch"))
    start = next(source for source in sources if source.name.endswith("launch.sh"))
    head = [line for line in job.text.splitlines() if line.startswith("#")]
    started = 'srun torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d train.py "$@"'
    own = Source(job.name, "\n".join([*head, started, ""]))
    assert read([*python, own]).launch == Launch()
    other = Source(job.name, job.text.replace('bash "$LAUNCH" "$@" &', "python other.py &"))
    assert read([*python, other]).launch == Launch()
    lone = Source(job.name, "\n".join([*head, 'srun bash "$LAUNCH" "$@"', ""]))
    assert read([*python, lone]).launch == Launch()
    moved = Source(start.name, start.text.replace("here=$(cd", "HERE=$(cd"))
    assert read([*python, moved]).launch == Launch()
    plain = Source(start.name, start.text.replace(" --auto-resume", ""))
    assert read([*python, plain]).launch == Launch()
