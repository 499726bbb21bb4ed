"""TensorFlow's launch.sh: every process is told the addresses of all others in TF_CONFIG."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from recipe_texts import recipe_of

SPREAD = "{strategy: data_parallel, nodes: 2, processes_per_node: 2}"


def files(target: str) -> dict[str, str]:
    recipe = recipe_of(distributed=SPREAD, launch="{scheduler: slurm}")
    (compiled,) = compile_recipe(recipe, [target])
    return {path: file.text for path, file in compiled.files.items()}


TELLS = 'printf "%s\\n" "$TF_CONFIG"'


FIRST = "processes=()\n"
FORGETS = 'wait() { if [[ ${1-} == -n ]]; then return 127; fi; builtin wait "$@"; }\n'
"""What bash does, now and then, where two processes end at once: the second is not seen."""


def started(
    tmp_path: Path, program: str = TELLS, *, before: str = "", **variables: str
) -> tuple[int, list[Any], list[str]]:
    """Run TensorFlow's launch.sh; return its exit code, every TF_CONFIG it set, its complaints.

    `program`: what each process runs. `before`: commands before the first start.
    """
    text = files("tensorflow")["launch.sh"]
    assert text.count(FIRST) == 1
    (tmp_path / "launch.sh").write_text(text.replace(FIRST, before + FIRST))
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/bash\n{program}\n")
    stand_in.chmod(0o755)
    done = subprocess.run(
        ["bash", str(tmp_path / "launch.sh")],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHON": str(stand_in), **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    configs = sorted(map(json.loads, done.stdout.splitlines()), key=lambda c: c["task"]["index"])
    return done.returncode, configs, done.stderr.splitlines()


@pytest.mark.parametrize("hosts", ["a b.c", "a,b.c", " a,  b.c "])
@pytest.mark.parametrize("rank", [0, 1])
def test_every_process_of_tensorflow_is_told_all_addresses(
    tmp_path: Path, hosts: str, rank: int
) -> None:
    code, configs, errors = started(
        tmp_path, NODE_RANK=str(rank), HOSTS=hosts, MASTER_PORT="1234", MASTER_ADDR="nobody"
    )
    assert (code, errors) == (0, [])
    assert [config["task"] for config in configs] == [
        {"type": "worker", "index": 2 * rank + turn} for turn in range(2)
    ]
    for config in configs:
        assert config["cluster"] == {"worker": ["a:1234", "a:1235", "b.c:1236", "b.c:1237"]}


@pytest.mark.parametrize("code", [0, 3])
def test_processes_that_end_at_once_count(tmp_path: Path, code: int) -> None:
    given = {"NODE_RANK": "0", "WORKERS": "a:1 a:2 b:1 b:2"}
    assert started(tmp_path, f"exit {code}", before=FORGETS, **given)[0] == code


def test_addresses_may_be_given_for_every_process(tmp_path: Path) -> None:
    workers = "a:1 a:2 [fe80::1]:1 [fe80::1]:2"
    code, configs, errors = started(tmp_path, NODE_RANK="1", WORKERS=workers)
    assert (code, errors) == (0, [])
    assert [config["task"]["index"] for config in configs] == [2, 3]
    assert configs[0]["cluster"] == {"worker": workers.split()}


def test_variables_of_the_same_name_are_no_failure(tmp_path: Path) -> None:
    mine = {"code": "5", "processes": "1", "workers": "x:1", "rank": "9", "task": "t"}
    code, configs, errors = started(
        tmp_path, NODE_RANK="0", HOSTS="a b", MASTER_PORT="1234", MASTER_ADDR="nobody", **mine
    )
    assert (code, errors, len(configs)) == (0, [], 2)
    assert configs[0]["cluster"]["worker"][0] == "a:1234"


def test_a_job_step_of_slurm_knows_all_addresses(tmp_path: Path) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(
        '#!/bin/bash\n[[ "$*" == "--oneliner show node n[7-8]" ]] || exit 1\n'
        "for n in 7 8; do\n"
        '  echo "NodeName=n$n Arch=x86_64 NodeAddr=10.0.0.$n NodeHostName=h$n Port=6818 "\ndone\n'
    )
    scontrol.chmod(0o755)
    code, configs, errors = started(tmp_path, SLURM_NODEID="1", SLURM_JOB_NODELIST="n[7-8]")
    assert (code, errors) == (0, [])
    addresses = ["10.0.0.7:29500", "10.0.0.7:29501", "10.0.0.8:29502", "10.0.0.8:29503"]
    assert [config["cluster"]["worker"] for config in configs] == [addresses] * 2
    assert [config["task"]["index"] for config in configs] == [2, 3]


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({}, ("NODE_RANK is ''", "HOSTS names 0 nodes: give all 2")),
        ({"NODE_RANK": "0"}, ("HOSTS names 0 nodes",)),
        ({"NODE_RANK": "0", "MASTER_ADDR": "a"}, ("HOSTS names 0 nodes",)),
        ({"NODE_RANK": "0", "HOSTS": "a"}, ("HOSTS names 1 nodes",)),
        ({"NODE_RANK": "0", "HOSTS": "a b c"}, ("HOSTS names 3 nodes",)),
        ({"NODE_RANK": "0", "HOSTS": "a\nb"}, ("HOSTS names 1 nodes",)),
        ({"NODE_RANK": "2", "HOSTS": "a b"}, ("NODE_RANK is '2'",)),
        ({"NODE_RANK": "x[$(touch pwned)]", "HOSTS": "a b"}, ("NODE_RANK is 'x[",)),
        (
            {"NODE_RANK": "0", "HOSTS": "a b", "MASTER_PORT": "x[$(touch pwned)]"},
            ("MASTER_PORT is 'x[",),
        ),
        ({"NODE_RANK": "0", "HOSTS": "a b", "MASTER_PORT": "65533"}, ("MASTER_PORT is '65533'",)),
        ({"NODE_RANK": "0", "HOSTS": 'a b"};'}, ("'b\"};:29502' is not a host",)),
        ({"NODE_RANK": "0", "HOSTS": "a `touch${IFS}pwned`"}, ("'`touch${IFS}pwned`:29502' is",)),
        ({"NODE_RANK": "0", "WORKERS": "a:1 b:1"}, ("WORKERS names 2 processes, and there are 4",)),
        ({"NODE_RANK": "0", "WORKERS": "a:1 a:2 b:1 b"}, ("'b' is not a host and a port",)),
        ({"NODE_RANK": "0", "WORKERS": "a:1 a:2 b:1 :2"}, ("':2' is not a host and a port",)),
    ],
)
def test_what_is_missing_of_a_cluster_is_said(
    tmp_path: Path, variables: dict[str, str], named: tuple[str, ...]
) -> None:
    code, configs, errors = started(tmp_path, **variables)
    assert (code, configs) == (2, [])
    assert len(errors) == len(named)
    for line, beginning in zip(errors, named, strict=True):
        assert line.startswith(beginning)
    assert not (tmp_path / "pwned").exists()


def test_jobs_side_by_side_do_not_share_ports() -> None:
    job = {target: files(target)["job.sbatch"] for target in ("torch", "tensorflow")}
    assert "$((20000 + SLURM_JOB_ID % 10000))" in job["torch"]
    assert "$((20000 + SLURM_JOB_ID * 4 % 10000))" in job["tensorflow"]
