"""Flags of libraries in launch commands, read without the script."""

from __future__ import annotations

from typing import Any

import pytest

from reading_helpers.reader_texts import codes, shell, shown, values_of

TRAINER = "--do_train --overwrite_output_dir --per_device_train_batch_size 4 --save_steps 10 "
MEGATRON = (
    "--num-layers 2 --num-attention-heads 2 --max-position-embeddings 128 --micro-batch-size 4 "
    "--global-batch-size 64 --train-iters 100 --lr 1e-4 --lr-decay-style cosine "
)
FAIRSEQ = "--arch a --task t --criterion c --max-tokens 100 --optimizer adam "


def best(text: str) -> dict[str, Any]:
    """Return what is told of every field; what the command says wins over defaults."""
    found: dict[str, Any] = {}
    for fact in shell(text).facts:
        if fact.field not in found or fact.layer.value != "library":
            found[fact.field] = shown(fact)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"python t.py {TRAINER} --fp16 --gradient_accumulation_steps 8 --learning_rate 3e-5 "
            "--lr_scheduler_type cosine --warmup_steps 10 --max_grad_norm 0.3 --bf16 false",
            {
                "framework": "pytorch",
                "api": "hf_trainer",
                "precision.compute_dtype": "float16",
                "loss_scaling.mode": "library",
                "accumulation.steps": 8,
                "batch.micro_batch_size": 4,
                "clipping.value": 0.3,
                "optimizer.name": "adamw",
                "optimizer.learning_rate": 3e-5,
                "schedule.name": "cosine",
                "schedule.warmup": "10 steps",
            },
        ),
        (
            f"python t.py {TRAINER}",
            {
                "precision.enabled": "never",
                "clipping.value": 1.0,
                "schedule.name": "linear",
                "optimizer.learning_rate": 5e-5,
                "accumulation.present": None,
            },
        ),
        (
            f"deepspeed --num_gpus 2 t.py --deepspeed c.json {TRAINER} --bf16",
            {
                "precision.compute_dtype": "bfloat16",
                "loss_scaling.mode": "none",
                "parallel.kind": "deepspeed",
                "parallel.world_size": 2,
            },
        ),
        (
            f"fairseq-train d {FAIRSEQ} --fp16 --fp16-init-scale 4 --update-freq 16 "
            "--clip-norm 0.0 --lr-scheduler inverse_sqrt --warmup-updates 4000 --lr 5e-4",
            {
                "precision.compute_dtype": "float16",
                "loss_scaling.mode": "dynamic",
                "loss_scaling.init_scale": 4,
                "accumulation.steps": 16,
                "accumulation.loss_divided": "token_normalised",
                "clipping.kind": "none",
                "schedule.name": "inverse_sqrt",
                "schedule.warmup": "4000 steps",
                "optimizer.learning_rate": 5e-4,
            },
        ),
        ("CUDA_VISIBLE_DEVICES=3 python t.py " + TRAINER, {"parallel.kind": "none"}),
    ],
)
def test_what_a_command_says(text: str, expected: dict[str, Any]) -> None:
    found = best(text)
    assert {field: found.get(field) for field in expected} == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"python t.py {TRAINER} --fp16 --bf16", "CC925"),
        (f"python t.py {TRAINER} --lr_scheduler_type constant --warmup_ratio 0.1", "CC926"),
        (f"torchrun --nproc_per_node 8 t.py {MEGATRON} --tensor-model-parallel-size 16", "CC928"),
    ],
)
def test_contradictions(text: str, code: str) -> None:
    assert codes(shell(text)) == [code]


def test_two_launches_with_two_libraries() -> None:
    found = shell(f"python a.py {TRAINER}\nfairseq-train d {FAIRSEQ}\n")
    assert values_of(found, "framework") == {"pytorch"}
    assert len(found.commands) == 2


def test_facts_of_flags_are_likely_and_the_launchers() -> None:
    found = shell(f"python t.py {TRAINER} --fp16")
    enabled = next(f for f in found.facts if f.field == "precision.enabled")
    assert (enabled.layer.value, enabled.confidence) == ("launcher", "likely")


def test_flags_that_only_look_like_lightnings() -> None:
    found = best(
        "torchrun --nproc_per_node 8 -m pack.main --lr 1e-3 --beta1 0.9 --beta2 0.95 --wd 0.2 "
        "--batch-size 64 --epochs 6 --precision amp_bf16 --log-every-n-steps 32 "
        "--grad-checkpointing"
    )
    assert found.get("api") != "lightning"
    assert found["precision.compute_dtype"] == "bfloat16"
    assert found["optimizer.learning_rate"] == 1e-3
    assert found["optimizer.weight_decay"] == 0.2
    assert found["activation_checkpointing"] == "yes"


HEREDOC = """cat <<EOT > ds.json
{"train_micro_batch_size_per_gpu": 4, "train_batch_size": 64,
 "fp16": {"enabled": true, "loss_scale": 0, "loss_scale_window": 500, "initial_scale_power": 12}}
EOT
"""


INFERS = (
    "torchrun --nproc_per_node 1 e.py --num-layers 2 --num-attention-heads 2 --seq-length 64 "
    "--micro-batch-size 4 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 "
    "--inference --deepspeed --deepspeed_config ds.json --no-load-optim"
)


def test_an_engine_that_only_infers() -> None:
    found = best(HEREDOC + INFERS)
    assert found["api"] == "deepspeed"
    assert not any(name.startswith(("clipping", "accumulation", "optimizer")) for name in found)
    trains = best(HEREDOC + INFERS.replace("--inference", "--train-iters 10"))
    assert trains["clipping.kind"] == "global_norm"
    both = best(HEREDOC + INFERS + " --train-iters 10")
    assert both["accumulation.present"] == "yes"


def test_parts_of_a_model_that_is_not_divided() -> None:
    kinds = [f.value for f in shell(HEREDOC + INFERS).facts if f.field == "parallel.kind"]
    assert "megatron" not in kinds
    divided = INFERS.replace("tensor-model-parallel-size 1", "tensor-model-parallel-size 2")
    kinds = [f.value for f in shell(HEREDOC + divided).facts if f.field == "parallel.kind"]
    assert "megatron" in kinds


def test_a_flag_beside_its_value_in_a_variable() -> None:
    text = f"ARGS='--clip-grad 0.7 --seed 3'\nLR=1e-3\npython t.py {MEGATRON} $ARGS --min-lr $LR"
    origins = {f.field: f.origin for f in shell(text).facts}
    assert origins["clipping.value"] == "literal"
    inner = text.replace("ARGS='", 'CLIP=0.7\nARGS="').replace("0.7 --seed 3'", '$CLIP --seed 3"')
    origins = {f.field: f.origin for f in shell(inner).facts}
    assert origins["clipping.value"] == "shell_variable"


REPLACED = (
    "accelerate launch --num_processes 4 {launcher} train.py --output_dir o {program} "
    "--per_device_train_batch_size 8 --save_strategy steps --logging_steps 5 "
    "--num_train_epochs 3 --learning_rate 2e-5 --gradient_checkpointing True\n"
)


@pytest.mark.parametrize(
    ("launcher", "program", "found"),
    [
        ("--mixed_precision fp16", "--bf16 True", ["CC933"]),
        ("--mixed_precision=bf16", "--fp16", ["CC933"]),
        ("--mixed_precision bf16", "--bf16 True", []),
        ("--mixed_precision fp16", "--bf16 False", []),
        ("--mixed_precision no", "--bf16 True", []),
        ("--mixed_precision $KIND", "--bf16 True", []),
        ("", "--bf16 True", []),
    ],
)
def test_a_type_of_the_launcher_that_the_trainer_replaces(
    launcher: str, program: str, found: list[str]
) -> None:
    assert codes(shell(REPLACED.format(launcher=launcher, program=program))) == found


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("accelerate launch --mixed_precision fp16 eval.py --config c.json", False),
        ("torchrun --nproc_per_node 4 tools/test_segmentation.py c.yaml", False),
        ("accelerate launch --mixed_precision fp16 sample.py --learning_rate 0.1", True),
    ],
)
def test_programs_that_evaluate(command: str, told: bool) -> None:
    fields = {fact.field for fact in shell(command + "\n").facts}
    assert bool(fields & {"precision.enabled", "parallel.kind"}) is told
