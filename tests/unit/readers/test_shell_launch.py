"""Which program a command starts, by which launcher, with how many processes."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.readers.shell.reader import READER
from reading_helpers.reader_texts import command, flags, shell, shown


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
        ("A=1 CUDA_VISIBLE_DEVICES=0,1 deepspeed t.py --a 1", "t.py", "deepspeed", 2),
        ("$RUN python t.py --a 1", "t.py", "", None),
        ("torchrun --standalone $SCRIPT --a 1", "$SCRIPT", "torchrun", None),
        ("srun -n 2 bash <<X\npython t.py --a 1\nX", "t.py", "srun", 2),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun t.py --a 1", "t.py", "torchrun", None),
        ("python -X dev -m cProfile -o a.prof t.py --a 1", "t.py", "", None),
        ("coverage run t.py --a 1", "t.py", "", None),
        ("nohup $PYTHON -m pkg.train --a 1", "-m pkg.train", "", None),
        ('"$BIN/torchrun" --nproc_per_node=2 t.py --a 1', "t.py", "torchrun", 2),
        ("uv run fairseq-train data --a 1", "fairseq-train", "", None),
        ("uv run tune run --nproc_per_node 2 lora --a 1", "tune run lora", "torchrun", 2),
        ("srun --mpi pmix mpirun -np 4 python t.py --a 1", "t.py", "mpirun", 4),
        ("mpirun -np 2 --verbose nice -n 5 env -x B python t.py --a 1", "t.py", "mpirun", 2),
        ("mpirun --hosts a b -np 2 python t.py --a 1", "t.py", "mpirun", 2),
        ("jsrun -n 2 time python t.py --a 1", "t.py", "jsrun", None),
        ("torchrun --nproc_per_node 2 $TRAIN_OPTS t.py --a 1", "t.py", "torchrun", 2),
        ("torchrun $SCRIPT --config c.py --a 1", "$SCRIPT", "torchrun", None),
        ("torchrun $RUN_OPTS --a 1", "$RUN_OPTS", "torchrun", None),
        ("torchrun --no_python python t.py --a 1", "t.py", "torchrun", None),
        ("deepspeed --include a@b t.py --a 1", "t.py", "deepspeed", None),
        ("fabric run model --devices=0,3,4 t.py --a 1", "t.py", "fabric", 3),
        ("fabric run model --devices 2 t.py --a 1", "t.py", "fabric", 2),
        ("python launch.py --lr 1 --config c.py real.py --a 1", "real.py", "launch.py", None),
        ("python start.py --nnodes=2 real.py --a 1", "real.py", "start.py", None),
        ("python train.py --config c.py real.py --a 1", "train.py", "", None),
        ("torchrun --nnodes 1:4 t.py --a 1", "t.py", "torchrun", "? --nnodes is 1:4"),
        ("torchrun --nnodes 3 t.py --a 1", "t.py", "torchrun", 3),
        (
            "torchrun --nproc_per_node gpu t.py --a 1",
            "t.py",
            "torchrun",
            "? --nproc_per_node is gpu",
        ),
        ("torchrun --nproc_per_node 2 --nnodes 2:2 t.py --a 1", "t.py", "torchrun", 4),
        ("deepspeed --include $HOSTS t.py --a 1", "t.py", "deepspeed", "? $HOSTS: the variable"),
        ("deepspeed --include a:0,2@b:1 t.py --a 1", "t.py", "deepspeed", 3),
        ("fleetrun --gpus 0,1 --nnodes $N t.py --a 1", "t.py", "paddle", "? $N: the variable"),
        ("fleetrun --gpus 0,1 --nnodes 2 t.py --a 1", "t.py", "paddle", 4),
        ("docker run --gpus 2 img python t.py --a 1", "t.py", "", None),
    ],
)
def test_launch(text: str, program: str, launcher: str, processes: int | str | None) -> None:
    found = command(text)
    assert found.program == program
    assert found.launcher == launcher
    number = shown(found.processes) if found.processes else None
    if isinstance(processes, str):
        assert str(number).startswith(processes)
    else:
        assert number == processes
    assert any(flag.expression in ("--a", "x.yaml") for flag in found.flags)


@pytest.mark.parametrize(
    "text",
    [
        *("pip install torch", "echo python t.py", "python -m pip install x", "python -c 'x = 1'"),
        *("python -", "cd python", "ls *.py", "accelerate config", "grep -r train.py .", "make t"),
        *(
            "python",
            "python -u -m",
            "python -m cProfile x",
            "tune ls lora",
            "torchrun -h",
            "mpirun",
        ),
        *("mpirun -np 2 -x", "accelerate", "nohup", "srun -n", "env", "export", "coverage run"),
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
    found = command(
        "mpirun -np 2 -x A=1 -x B docker run -e C=2 --env D=$Q img python t.py"
    ).environment
    assert {f.expression: f.value for f in found} == {"A": "1", "C": "2", "D": None}


def test_functions_that_call_each_other_end() -> None:
    assert shell("f() { g; }\ng() { f; python t.py; }\nf\n").commands


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("torchrun --nproc_per_node 2 --nnodes 3 t.py", 3),
        ("torchrun --nproc_per_node 2 --nnodes 1:3 t.py", None),
        ("srun -N 2 --ntasks 4 python t.py", 2),
        ("srun --nodes=2 --ntasks 4 python t.py", 2),
        ("#SBATCH --nodes 5\nsrun -n 4 python t.py", 5),
        ("#SBATCH --nodes 5\nmpirun -n 4 python t.py", None),
        ("mpirun -N 2 -np 4 python t.py", None),
        ("#SBATCH --nodes=1-2\nsrun -n 4 python t.py", None),
        ("srun -n 4 python t.py", None),
    ],
)
def test_nodes(text: str, nodes: int | None) -> None:
    found = command(text).nodes
    assert (None if found is None else found.value) == nodes


@pytest.mark.parametrize(
    ("name", "text", "known"),
    [
        ("run.sh", "", True),
        ("train", "#!/bin/bash\nmake\n", True),
        ("notes.txt", "#!/usr/bin/env bash\nmake\n", True),
        ("notes.txt", "#SBATCH -n 2\nmake\n", True),
        ("notes.txt", "python train.py --a 1\n", False),
        ("train", "export A=1 && python train.py --a 1\n", False),
        ("train", "python train.py --a 1\n", True),
        ("train", "import os\npython train.py --a 1\n", False),
        ("train", "make\n", False),
        ("run.sh", "\0", False),
    ],
)
def test_which_files_are_scripts(name: str, text: str, known: bool) -> None:
    assert READER.sniff(Source(name, text)) is known
