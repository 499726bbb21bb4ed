"""The section `launch`: its rules, what it changes, and what the files for the start say."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.frame import recipe_hash
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe import rules
from crosscast.recipe.document import Launch, Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast.recipe.yaml_text import recipe_text
from crosscast.targets.backend import find_target
from crosscast.targets.capability import judge, leaves
from crosscast_parity.recipes.derived import changed, comparable
from crosscast_reading.lift.recipe_diff import differences, side_of
from recipe_texts import recipe_of, text_of

SPREAD = "{strategy: data_parallel, nodes: 2, processes_per_node: 2}"
JOB = "{scheduler: slurm, max_requeues: 3, time_limit_minutes: 90, partition: debug}"


def spread(launch: str = "{}", **changes: str) -> Recipe:
    return recipe_of(distributed=SPREAD, launch=launch, **changes)


def refused(launch: str, **changes: str) -> list[tuple[str, str]]:
    with pytest.raises(DiagnosticError) as error:
        recipe_of(**({"distributed": SPREAD} | changes), launch=launch)
    return [(diagnostic.code, diagnostic.path) for diagnostic in error.value.diagnostics]


def files(recipe: Recipe, target: str = "torch") -> dict[str, str]:
    (compiled,) = compile_recipe(recipe, [target])
    return {path: file.text for path, file in compiled.files.items()}


def test_processes_are_those_of_all_nodes() -> None:
    recipe = spread(batch="{micro_batch_size: 4, global_batch_size: 48}", accumulation="{}")
    assert recipe.processes == 4
    assert recipe.accumulation.steps == 3
    assert rules.check(recipe) == []


def test_a_product_that_does_not_come_out_is_named() -> None:
    with pytest.raises(DiagnosticError) as error:
        spread(batch="{micro_batch_size: 4, global_batch_size: 8}", accumulation="{steps: 1}")
    (found,) = error.value.diagnostics
    assert "processes 4 = 16" in found.message


def test_nodes_without_a_strategy_are_a_contradiction() -> None:
    assert refused("{}", distributed="{nodes: 2}", batch="{micro_batch_size: 4}") == [
        ("CC201", "distributed.nodes")
    ]


@pytest.mark.parametrize(
    ("launch", "field"),
    [
        ("{partition: debug}", "partition"),
        ("{account: us}", "account"),
        ("{time_limit_minutes: 5}", "time_limit_minutes"),
        ("{max_requeues: 1}", "max_requeues"),
        ("{gpus_per_node: 8}", "gpus_per_node"),
        ("{cpus_per_process: 8}", "cpus_per_process"),
        ("{memory_mib_per_node: 8}", "memory_mib_per_node"),
        ("{scheduler: slurm, gpus_per_node: 1}", "gpus_per_node"),
        ("{scheduler: slurm, signal_seconds: 60}", "signal_seconds"),
        (
            "{scheduler: slurm, max_requeues: 1, time_limit_minutes: 2, signal_seconds: 120}",
            "signal_seconds",
        ),
        ("{max_restarts: 1}", "max_restarts"),
    ],
)
def test_contradictions_have_their_place(launch: str, field: str) -> None:
    assert refused(launch) == [("CC220", f"launch.{field}")]


def test_all_contradictions_are_told_at_once() -> None:
    found = refused("{partition: debug, max_restarts: 1, gpus_per_node: 1}")
    paths = [path for _, path in found]
    assert sorted(set(paths)) == ["launch.gpus_per_node", "launch.max_restarts", "launch.partition"]


def test_one_process_meets_nobody() -> None:
    assert refused("{rendezvous: elastic}", distributed="{strategy: none}") == [
        ("CC220", "launch.rendezvous")
    ]


@pytest.mark.parametrize(
    "launch",
    [
        "{}",
        JOB,
        "{scheduler: slurm}",
        "{scheduler: slurm, gpus_per_node: 2}",
        "{scheduler: slurm, max_requeues: 1}",
        "{scheduler: slurm, max_requeues: 1, time_limit_minutes: 2, signal_seconds: 119}",
        "{rendezvous: elastic, max_restarts: 3}",
        "{scheduler: slurm, partition: 'a,b-c.d_e', account: p0:x+y}",
    ],
)
def test_what_can_be_started_is_accepted(launch: str) -> None:
    recipe = spread(launch)
    again = build_recipe(parse(recipe_text(recipe), "recipe.yaml"))
    assert again == recipe


HOSTILE = (
    *("a b", "a\nb", "a\n#SBATCH --wrap=x", "a;b", "$(x)", "`x`", "a'b", 'a"b', "a#b", "%j", ""),
    *("a\tb", "a\\b", "a/b", "-a", "--wrap", "é", "a\u2028b", "a=b", "a" * 129, "a\n", "\na", "*"),
)


@pytest.mark.parametrize("field", ["partition", "account"])
@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_that_could_be_more_than_a_name_is_refused(field: str, text: str) -> None:
    with pytest.raises(ValidationError, match=field):
        Launch.model_validate({"scheduler": "slurm", field: text})


@pytest.mark.parametrize("field", ["partition", "account"])
def test_a_name_that_is_refused_is_told_as_any_mistake(field: str) -> None:
    text = text_of(launch=f"{{scheduler: slurm, {field}: 'gpu big'}}")
    with pytest.raises(DiagnosticError) as caught:
        build_recipe(parse(text, "recipe.yaml"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.path) == ("CC104", f"launch.{field}")
    assert found.message == (
        "must be 1 to 128 letters, digits and _ . , : + -, not starting with . , : + -"
    )


@pytest.mark.parametrize("text", ["a", "gpu", "a,b", "a.b_c-d", "9", "a" * 128])
def test_names_of_partitions_are_names(text: str) -> None:
    launch = Launch.model_validate({"scheduler": "slurm", "partition": text})
    lines = files(changed(spread(), {"launch": launch.model_dump()}))["job.sbatch"].splitlines()
    assert f"#SBATCH --partition={text}" in lines


def test_how_it_is_started_is_no_part_of_what_is_trained() -> None:
    plain = recipe_of(distributed="{strategy: data_parallel, processes_per_node: 4}")
    started = spread(JOB)
    assert recipe_hash(plain) == recipe_hash(started)
    assert recipe_hash(plain) != recipe_hash(recipe_of())
    for target in ("torch", "paddle", "tensorflow"):
        first, second = files(plain, target), files(spread(), target)
        runtime = {path for path in first if path.startswith("runtime/")}
        assert runtime
        for path in ("train.py", "model.py", "requirements.txt", *runtime):
            assert first[path] == second[path]


def test_without_a_word_about_the_start_nothing_is_judged() -> None:
    assert [path for path, _ in leaves(spread()) if path.startswith("launch.")] == []
    fields = {path: value for path, value in leaves(spread(JOB)) if path.startswith("launch.")}
    assert fields["launch.max_requeues"] == 3
    assert "launch.account" not in fields


def test_two_recipes_that_differ_in_the_start_train_the_same(tmp_path: Path) -> None:
    first, second, three = (tmp_path / f"{name}.yaml" for name in ("one", "two", "three"))
    first.write_text(recipe_text(spread(JOB)))
    each = "{strategy: data_parallel, processes_per_node: %d}"
    second.write_text(recipe_text(recipe_of(distributed=each % 4)))
    three.write_text(recipe_text(recipe_of(distributed=each % 3)))

    def found(right: Path) -> list[str]:
        return [d.path for d in differences(side_of(str(first), {}), side_of(str(right), {}))]

    assert found(second) == []
    assert "distributed.processes_per_node" in found(three)


def test_the_harness_compares_one_process_and_starts_it_itself() -> None:
    recipe, left_out = comparable(spread(JOB))
    assert (recipe.processes, recipe.distributed.nodes) == (1, 1)
    assert recipe.launch == Launch()
    assert "distributed: one process was run instead of 4" in left_out


@pytest.mark.parametrize(
    ("target", "code"), [("paddle", "CC384"), ("torch@1.8", "CC314"), ("tensorflow", "CC328")]
)
def test_an_elastic_start_is_refused_where_there_is_none(target: str, code: str) -> None:
    recipe = spread("{rendezvous: elastic}")
    codes = {judgement.row.code for judgement in judge(recipe, find_target(target).rows)}
    assert code in codes


@pytest.mark.parametrize("target", ["accelerate", "deepspeed", "transformers", "paddle@lark"])
def test_a_configuration_starts_nothing_and_says_so(target: str) -> None:
    found = {
        judgement.path: judgement.row for judgement in judge(spread(JOB), find_target(target).rows)
    }
    assert found["launch.scheduler"].verdict == "approximate"


def test_a_job_asks_for_what_the_recipe_says() -> None:
    launch = Launch(
        scheduler="slurm",
        time_limit_minutes=90,
        max_requeues=2,
        signal_seconds=300,
        gpus_per_node=4,
        cpus_per_process=6,
        memory_mib_per_node=64000,
        partition="gpu,long",
        account="team-1",
    )
    text = files(changed(spread(), {"launch": launch.model_dump()}))["job.sbatch"]
    directives = [line for line in text.splitlines() if line.startswith("#SBATCH")]
    assert directives == [
        f"#SBATCH {option}"
        for option in (
            f"--job-name={spread().name}",
            *("--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=12", "--gpus-per-node=4"),
            *("--mem=64000M", "--time=90", "--partition=gpu,long", "--account=team-1"),
            *("--output=%x-%j.log", "--requeue", "--open-mode=append", "--signal=B:USR1@300"),
        )
    ]
    assert "\nexport OMP_NUM_THREADS=6\n" in text


def test_a_job_that_is_not_requeued_says_so() -> None:
    emitted = files(spread("{scheduler: slurm}"))
    assert "#SBATCH --no-requeue\n" in emitted["job.sbatch"]
    # The script itself would hear the signal and resume, as every script does.
    for word in ("USR1", "auto-resume"):
        assert word not in emitted["job.sbatch"] + emitted["launch.sh"]


@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle"])
def test_every_script_can_be_requeued(target: str) -> None:
    emitted = files(recipe_of(), target)
    assert '"--auto-resume"' in emitted["runtime/arguments.py"]
    assert "signal.signal(signal.SIGUSR1, " in emitted["runtime/run.py"]


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        (
            "torch",
            (
                "-m torch.distributed.run --nnodes 2",
                '--node-rank "$node" --master-addr "$address" --master-port "$port"',
                '--nproc-per-node 2 "$here/train.py" "$@"',
            ),
        ),
        (
            "torch@2.1",
            (
                "-m torch.distributed.run --nnodes 2",
                '--node_rank "$node" --master_addr "$address" --master_port "$port"',
                '--nproc_per_node 2 "$here/train.py" "$@"',
            ),
        ),
        (
            "torch@1.8",
            (
                "-m torch.distributed.launch --use_env --nnodes 2",
                '--node_rank "$node" --master_addr "$address" --master_port "$port"',
                '--nproc_per_node 2 "$here/train.py" "$@"',
            ),
        ),
        (
            "paddle",
            (
                "-m paddle.distributed.launch",
                '--master "$address:$port" --nnodes 2 --rank "$node"',
                "--nproc_per_node 2",
            ),
        ),
    ],
)
def test_every_generation_of_a_launcher_has_its_words(target: str, lines: tuple[str, ...]) -> None:
    text = files(spread(), target)["launch.sh"]
    found = [line.strip().removesuffix(" \\") for line in text.splitlines()]
    at = next(i for i, line in enumerate(found) if line.endswith(lines[0]))
    assert found[at + 1 : at + len(lines)] == list(lines[1:])


def test_an_elastic_start_finds_its_nodes_and_resumes() -> None:
    emitted = files(spread("{rendezvous: elastic, max_restarts: 3}"))
    assert "torch.distributed.run --nnodes 2 --max-restarts 3 \\\n" in emitted["launch.sh"]
    assert '--rdzv-backend c10d --rdzv-endpoint "$address:$port"' in emitted["launch.sh"]
    assert '"$here/train.py" --auto-resume "$@"' in emitted["launch.sh"]
    assert "node-rank" not in emitted["launch.sh"]
    assert "--auto-resume" in emitted["runtime/arguments.py"]


def launched(tmp_path: Path, variables: dict[str, str], target: str = "torch") -> Any:
    """Run launch.sh with a stand-in for Python that prints its arguments."""
    (tmp_path / "launch.sh").write_text(files(spread(), target)["launch.sh"])
    stand_in = tmp_path / "python"
    stand_in.write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    stand_in.chmod(0o755)
    return subprocess.run(
        ["bash", str(tmp_path / "launch.sh"), "--windows", "3"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHON": str(stand_in), **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", ["torch", "paddle"])
def test_nodes_and_addresses_come_from_variables(tmp_path: Path, target: str) -> None:
    given = {"NODE_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1234"}
    done = launched(tmp_path, given, target)
    assert (done.returncode, done.stderr) == (0, "")
    words = done.stdout.split("\n")
    if target == "torch":
        assert words[words.index("--node-rank") + 1] == "1"
        assert words[words.index("--master-addr") + 1] == "127.0.0.1"
        assert words[words.index("--master-port") + 1] == "1234"
    else:
        assert words[words.index("--rank") + 1] == "1"
        assert words[words.index("--master") + 1] == "127.0.0.1:1234"
    assert words[-3:] == ["--windows", "3", ""]


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({}, ("NODE_RANK", "MASTER_ADDR")),
        ({"NODE_RANK": "0"}, ("MASTER_ADDR",)),
        ({"MASTER_ADDR": "a"}, ("NODE_RANK",)),
        ({"MASTER_ADDR": "a", "NODE_RANK": "2"}, ("NODE_RANK",)),
        ({"MASTER_ADDR": "a", "NODE_RANK": "-1"}, ("NODE_RANK",)),
        ({"MASTER_ADDR": "a", "NODE_RANK": "x[$(touch pwned)]"}, ("NODE_RANK",)),
        ({"MASTER_ADDR": "a", "NODE_RANK": "01"}, ("NODE_RANK",)),
    ],
)
def test_a_node_that_does_not_know_itself_says_what_is_missing(
    tmp_path: Path, variables: dict[str, str], named: tuple[str, ...]
) -> None:
    done = launched(tmp_path, variables)
    assert done.returncode == 2
    assert done.stdout == ""
    assert [line.split(" ")[0] for line in done.stderr.splitlines()] == list(named)
    assert not (tmp_path / "pwned").exists()


def test_a_job_step_of_slurm_says_both(tmp_path: Path) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(
        '#!/bin/bash\nif [[ $1 == show ]]; then printf "n7\\nn8\\n"\n'
        'else echo "NodeName=$4 Arch=x86_64 NodeAddr=10.0.0.7 NodeHostName=n7 "; fi\n'
    )
    scontrol.chmod(0o755)
    done = launched(tmp_path, {"SLURM_NODEID": "1", "SLURM_JOB_NODELIST": "n[7-8]"})
    assert done.returncode == 0
    words = done.stdout.split("\n")
    assert words[words.index("--master-addr") + 1] == "10.0.0.7"
    assert words[words.index("--node-rank") + 1] == "1"


def test_a_job_file_is_for_sbatch(tmp_path: Path) -> None:
    job = tmp_path / "job.sbatch"
    job.write_text(files(spread(JOB))["job.sbatch"])
    done = subprocess.run(
        ["bash", str(job)], env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"this is for sbatch" in done.stderr
