"""Rules about settings that contradict each other or have no effect, in scripts and files."""

from __future__ import annotations

import json

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

MEGATRON = (
    "--num-layers 24 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 2 "
    "--global-batch-size 64 --fp16 --lr 1.5e-4"
)
TRAINER = (
    "--learning_rate 2e-5 --per_device_train_batch_size 8 --num_train_epochs 3 "
    "--output_dir out --do_train"
)


def codes(text: str, name: str = "run.sh") -> list[str]:
    """Return the codes that are found, with the severity of notes."""
    found = lint_sources([Source(name, text)])
    return sorted(
        f"{diagnostic.code}{'?' * (diagnostic.severity.value == 'note')}" for diagnostic in found
    )


@pytest.mark.parametrize(
    ("head", "sizes", "expected"),
    [
        ("torchrun --nproc_per_node 8", "--tensor-model-parallel-size 16", ["CL922"]),
        ("torchrun --nproc_per_node 8", "--tensor-model-parallel-size 3", ["CL922"]),
        (
            "torchrun --nproc_per_node 8 --nnodes 2",
            "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 3",
            ["CL922"],
        ),
        (
            "torchrun --nproc_per_node 8 --nnodes 2",
            "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2",
            [],
        ),
        (
            "torchrun --nproc_per_node 8",
            "--tensor-model-parallel-size 4 --context-parallel-size 4",
            ["CL922"],
        ),
        # the batch: 64 rows, 2 a micro-batch, on 6 processes
        ("torchrun --nproc_per_node 6", "--tensor-model-parallel-size 1", ["CL922"]),
        # how many there are is not in the script
        ("torchrun --nproc_per_node $GPUS", "--tensor-model-parallel-size 16", []),
        ("torchrun --nproc_per_node 8 --nnodes $NODES", "--tensor-model-parallel-size 16", []),
        ("torchrun --nproc_per_node 8 --nnodes ${NODES:-1}", "--tensor-model-parallel-size 16", []),
        ("torchrun --nproc_per_node ${1:-8}", "--tensor-model-parallel-size 16", []),
        ("torchrun --nproc_per_node 8", "--tensor-model-parallel-size $TP", []),
        ("python", "--tensor-model-parallel-size 16", []),
        ("torchrun --nproc_per_node 8 --nnodes 1:4", "--tensor-model-parallel-size 16", []),
    ],
)
def test_parts_of_a_model_and_processes(head: str, sizes: str, expected: list[str]) -> None:
    assert codes(f"{head} pretrain.py {sizes} {MEGATRON}\n") == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--loss-scale 12 --deepspeed --deepspeed_config ds.json", ["CL913?"]),
        ("--loss-scale 0 --deepspeed --deepspeed_config ds.json", []),
        ("--deepspeed --deepspeed_config ds.json", []),
        ("--loss-scale 12", []),
    ],
)
def test_a_scale_beside_an_engine(flags: str, expected: list[str]) -> None:
    assert codes(f"torchrun --nproc_per_node 8 pretrain.py {flags} {MEGATRON}\n") == expected


LEVELS = """\
import pytorch_lightning as pl

trainer = pl.Trainer(precision=16, amp_level="O2"{more})
"""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", ["CL913"]),
        (', amp_backend="native"', ["CL913"]),
        (', amp_backend="apex"', []),
        (", amp_backend=args.backend", []),
        (", **options", []),
    ],
)
def test_levels_of_apex_without_apex(more: str, expected: list[str]) -> None:
    assert codes(LEVELS.format(more=more), "train.py") == expected


def test_levels_that_are_not_given() -> None:
    assert codes(LEVELS.format(more="").replace('"O2"', "None"), "train.py") == []
    assert codes(LEVELS.format(more="").replace("pl.Trainer", "Trainer"), "train.py") == []


def test_sizes_in_arrays() -> None:
    text = (
        "GPUS=8\nNODES=1\n"
        "LAUNCH=(\n    --nproc_per_node $GPUS\n    --nnodes $NODES\n)\n"
        "MODEL=(\n    --tensor-model-parallel-size 8\n    --pipeline-model-parallel-size 16\n)\n"
        f"torchrun ${{LAUNCH[@]}} pretrain.py ${{MODEL[@]}} {MEGATRON}\n"
    )
    assert codes(text) == ["CL922"]
    assert codes(text.replace("NODES=1", "NODES=16")) == []
    assert codes(text.replace("NODES=1", "NODES=${NODES:-1}")) == []


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--fp16 --bf16", ["CL922"]),
        ("--fp16", []),
        ("--lr_scheduler_type constant --warmup_ratio 0.1", ["CL913"]),
        ("--lr_scheduler_type constant --warmup_ratio 0", []),
        ("--lr_scheduler_type constant_with_warmup --warmup_ratio 0.1", []),
        ("--lr_scheduler_type linear --warmup_ratio 0.1", []),
    ],
)
def test_flags_of_a_trainer(flags: str, expected: list[str]) -> None:
    assert codes(f"python train.py {TRAINER} {flags}\n") == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"fp16": {"enabled": True}, "bf16": {"enabled": True}}, ["CL922"]),
        ({"fp16": {"enabled": False, "loss_scale": 128}}, ["CL913?"]),
        ({"fp16": {"enabled": True, "loss_scale": 128}}, []),
    ],
)
def test_deepspeed(settings: dict[str, object], expected: list[str]) -> None:
    text = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, **settings}
    assert codes(json.dumps(text, indent=2), "ds_config.json") == expected


def test_a_file_that_does_not_train() -> None:
    assert codes('{"fp16": true, "bf16": true, "name": "x"}\n', "metadata.json") == []


def test_glued_words() -> None:
    text = "python train.py --lr 1e-4 --epochs 4\\\n{}--max_grad_norm 1.0\n"
    assert codes(text.format("")) == ["CL923"]
    assert codes(text.format("  ")) == []
    assert codes(text.replace("4\\", "4 \\").format("")) == []
