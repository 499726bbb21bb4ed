"""Names of launchers, wrappers and programs in commands, and their options without a value."""

from __future__ import annotations

import re

PYTHON = re.compile(
    r"(.{0,100}/)?(python[\d.]*|pypy\d?|ipython\d?|coverage|kernprof)|\$\{?\w{0,60}(PYTHON|python)\w{0,60}\}?"
)
WRAPPERS = frozenset(
    (
        *("nohup", "time", "exec", "sudo", "env", "nice", "ionice", "stdbuf", "numactl", "timeout"),
        *(
            "srun",
            "mpirun",
            "mpiexec",
            "mpiexec.hydra",
            "orterun",
            "prun",
            "aprun",
            "jsrun",
            "ibrun",
        ),
        *("singularity", "apptainer", "docker", "nvidia-docker", "podman", "conda", "poetry"),
        *("pipenv", "uv", "nsys", "ncu", "dlprof", "nvprof", "xvfb-run", "command", "strace"),
        *("taskset", "catchsegv", "shifter", "enroot", "pdsh", "setsid", "micromamba", "mamba"),
    )
)
MPI = frozenset({"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "aprun"})
LAUNCHERS = {
    "torchrun": "torchrun",
    "deepspeed": "deepspeed",
    "accelerate": "accelerate",
    "accelerate-launch": "accelerate",
    "fleetrun": "paddle",
    "horovodrun": "horovodrun",
    "composer": "composer",
    "fabric": "fabric",
    "lightning": "fabric",
    "colossalai": "colossalai",
}
MODULES = {
    "torch.distributed.launch": "torch.distributed.launch",
    "torch.distributed.run": "torchrun",
    "torch.distributed.elastic_launch": "torchrun",
    "paddle.distributed.launch": "paddle",
    "paddle.distributed.fleet.launch": "paddle",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
    "horovod.runner": "horovodrun",
}
PROGRAMS = {
    "fairseq-train": 1,
    "fairseq-hydra-train": 1,
    "llamafactory-cli": 2,
    "axolotl": 2,
    "litgpt": 2,
    "xtuner": 2,
    "swift": 2,
    "megatron": 2,
}
"""Installed programs that train, and how many words name them."""
BARE = frozenset(
    (
        *("standalone", "no_python", "m", "module", "use_env", "run_path", "multi_gpu", "cpu"),
        *("use_deepspeed", "use_fsdp", "tpu", "quiet", "debug", "no_local_rank", "force_multi"),
        *("tpu_use_cluster", "use_megatron_lm", "same_network", "verbose", "gloo", "mpi", "v"),
        *("elastic_training", "no_ssh", "save_pid", "autotuning_run", "allow_run_as_root"),
    )
)
PROCESS_FLAGS = frozenset(
    {"nproc_per_node", "selected_gpus", "num_gpus", "nnodes", "ngpus", "node_ips", "num_nodes"}
)
NOT_TRAINING = frozenset(
    {"", "pip", "venv", "ensurepip", "json.tool", "http.server", "site", "compileall"}
)
"""Modules that `python -m` runs and that train nothing."""


_STARTS = frozenset({*LAUNCHERS, *PROGRAMS, "tune"})


def is_python(text: str) -> bool:
    """Return whether a word is an interpreter of Python, or a variable named after it."""
    return PYTHON.fullmatch(text) is not None


def starts_program(text: str) -> bool:
    """Return whether a word can start a program: Python, a launcher, a file."""
    name = text.rpartition("/")[2]
    return text.endswith(".py") or is_python(text) or name in _STARTS
