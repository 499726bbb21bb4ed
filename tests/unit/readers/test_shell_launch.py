"""Which program a command starts, by which launcher, with how many processes."""

from __future__ import annotations

import pytest

from reader_texts import command, flags, shell, shown


@pytest.mark.parametrize(
    ("text", "program", "launcher", "processes"),
    [
        ("python3.10 -u -W ignore src/t.py --a 1", "src/t.py", "", None),
        ("./t.py --a 1", "./t.py", "", None),
        ("python -m pkg.train --a 1", "-m pkg.train", "", None),
        ("$PYTHON t.py --a 1", "t.py", "", None),
        ("nohup time env A=1 python t.py --a 1", "t.py", "", None),
        ("torchrun --standalone --nproc-per-node=4 t.py --a 1", "t.py", "torchrun", 4),
        ("torchrun --nproc_per_node 4 --nnodes 2 t.py --a 1", "t.py", "torchrun", 8),
        ("torchrun --nproc_per_node 2 -m pkg.train --a 1", "-m pkg.train", "torchrun", 2),
        (
            "python -m torch.distributed.launch --nproc_per_node=2 --use_env t.py --a 1",
            *("t.py", "torch.distributed.launch", 2),
        ),
        ("deepspeed --num_gpus=4 --master_port 1 t.py --a 1", "t.py", "deepspeed", 4),
        ("deepspeed --include localhost:0,2 t.py --a 1", "t.py", "deepspeed", 2),
        ("accelerate launch --multi_gpu --num_processes 8 t.py --a 1", "t.py", "accelerate", 8),
        ("accelerate launch t.py --a 1", "t.py", "accelerate", None),
        ("python -m paddle.distributed.launch --gpus '0,1,2' t.py --a 1", "t.py", "paddle", 3),
        ("fleetrun --devices 0,1 t.py --a 1", "t.py", "paddle", 2),
        ("horovodrun -np 4 -H localhost:4 python t.py --a 1", "t.py", "horovodrun", 4),
        ("mpirun --oversubscribe -np 2 -x A=1 python t.py --a 1", "t.py", "mpirun", 2),
        ("srun --ntasks=6 python t.py --a 1", "t.py", "srun", 6),
        ("srun singularity exec --nv x.sif python t.py --a 1", "t.py", "srun", None),
        ("docker run --gpus all -it img python t.py --a 1", "t.py", "", None),
        ("fairseq-train data --a 1", "fairseq-train", "", None),
        ("llamafactory-cli train x.yaml --a 1", "llamafactory-cli train", "", None),
        ("tune run --nproc_per_node 2 lora --a 1", "tune run lora", "torchrun", 2),
        (
            "python start.py --nproc_per_node 2 --node_id 0 real.py --a 1",
            *("real.py", "start.py", 2),
        ),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed t.py --a 1", "t.py", "deepspeed", 2),
    ],
)
def test_launch(text: str, program: str, launcher: str, processes: int | None) -> None:
    found = command(text)
    assert found.program == program
    assert found.launcher == launcher
    assert (shown(found.processes) if found.processes else None) == processes
    assert any(flag.expression in ("--a", "x.yaml") for flag in found.flags)


@pytest.mark.parametrize(
    "text",
    [
        *("pip install torch", "echo python t.py", "python -m pip install x", "python -c 'x = 1'"),
        *("python -", "cd python", "ls *.py", "accelerate config", "grep -r train.py .", "make t"),
    ],
)
def test_what_starts_no_program(text: str) -> None:
    assert shell(text).commands == ()


def test_processes_that_are_not_known_say_why() -> None:
    found = command("torchrun --nproc_per_node $N t.py").processes
    assert found is not None
    assert not found.known
    assert "N is not set" in found.reason


def test_slurm_lines_give_nodes_tasks_and_variables() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=4  # each\n"
        "#SBATCH --gres=gpu:a100:3\n"
        "srun python t.py --world $SLURM_NTASKS --gpus $SLURM_GPUS_ON_NODE --n $SLURM_JOB_ID\n"
    )
    found = command(text)
    assert shown(found.processes) == 8  # type: ignore[arg-type]
    values = flags(text)
    assert values["--world"] == "8"
    assert values["--gpus"] == "3"
    assert values["--n"].startswith("?")


def test_slurm_lines_after_the_first_command_do_not_count() -> None:
    found = command("#!/bin/bash\necho\n#SBATCH -n 4\nsrun python t.py\n")
    assert found.processes is None


def test_devices_counted_by_a_pipeline() -> None:
    text = (
        "export CUDA_VISIBLE_DEVICES=0,1,5\n"
        "N=$(echo $CUDA_VISIBLE_DEVICES | awk -F, '{print NF}')\ntorchrun --nproc_per_node=$N t.py"
    )
    assert shown(command(text).processes) == 3  # type: ignore[arg-type]


def test_variables_of_wrappers_reach_the_program() -> None:
    found = command("mpirun -np 2 -x A=1 -x B docker run -e C=2 img python t.py").environment
    assert {f.expression: f.value for f in found} == {"A": "1", "C": "2"}


def test_configurations_are_mentioned() -> None:
    found = shell("deepspeed t.py --deepspeed ds.json --config x.yaml conf/y.py\n")
    assert {"t.py", "ds.json", "x.yaml"} <= set(found.mentions)


def test_functions_that_call_each_other_end() -> None:
    assert shell("f() { g; }\ng() { f; python t.py; }\nf\n").commands
