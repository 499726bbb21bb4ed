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
LIGHTNING = "--accumulate_grad_batches 4 --max_epochs 3 --gpus 2 "
PADDLE = "--use_cuda true --init_pretraining_params x --num_iteration_per_drop_scope 1 "


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
            f"torchrun --nproc_per_node 8 t.py {MEGATRON} --fp16 --clip-grad 0.5 "
            "--tensor-model-parallel-size 2 --loss-scale-window 500 --lr-warmup-fraction .01",
            {
                "api": "megatron",
                "precision.compute_dtype": "float16",
                "loss_scaling.mode": "dynamic",
                "loss_scaling.growth_interval": 500,
                "loss_scaling.init_scale": 2.0**32,
                "accumulation.steps": 4,
                "clipping.value": 0.5,
                "parallel.kind": "megatron",
                "schedule.warmup": "0.01 of all",
                "optimizer.name": "adamw",
            },
        ),
        (
            f"python t.py {MEGATRON} --fp16 --loss-scale 1024",
            {"loss_scaling.mode": "static", "loss_scaling.scale": 1024},
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
        (
            f"python t.py {LIGHTNING} --precision=16 --gradient_clip_val 0.5 --strategy ddp",
            {
                "api": "lightning",
                "precision.compute_dtype": "float16",
                "accumulation.steps": 4,
                "clipping.value": 0.5,
                "parallel.kind": "ddp",
                "parallel.world_size": 2,
                "optimizer.name": "elsewhere",
            },
        ),
        (
            "accelerate launch --mixed_precision fp16 --num_processes 2 t.py "
            "--gradient_accumulation_steps 4 --max_grad_norm 1.0",
            {
                "api": "accelerate",
                "precision.compute_dtype": "float16",
                "accumulation.steps": 4,
                "clipping.value": 1.0,
                "parallel.kind": "ddp",
            },
        ),
        (
            f"python t.py {PADDLE} --use_fp16 false --loss_scaling 8.0",
            {
                "framework": "paddle",
                "api": "paddle_cli_flags",
                "precision.enabled": "never",
                "loss_scaling.mode": "none",
                "precision.flag": "--use_fp16",
            },
        ),
        (
            f"python t.py {PADDLE} --use_fp16=true --loss_scaling 128.0 --learning_rate 5e-5",
            {
                "precision.compute_dtype": "float16",
                "loss_scaling.mode": "static",
                "loss_scaling.scale": 128.0,
                "optimizer.learning_rate": 5e-5,
            },
        ),
        (
            f"python t.py {PADDLE} --use_fp16=true --batch_size 32 --in_tokens false",
            {"batch.micro_batch_size": 32},
        ),
        (
            f"python t.py {PADDLE} --use_fp16 True learning_rate 2.0 model_dir out",
            {"precision.compute_dtype": "float16", "precision.flag": "--use_fp16"},
        ),
        (
            f"python t.py {PADDLE} --use_fp16 true --use_dynamic_loss_scaling true "
            "--init_loss_scaling 1024 --incr_every_n_steps 100 --decr_ratio 0.8",
            {
                "loss_scaling.mode": "dynamic",
                "loss_scaling.init_scale": 1024,
                "loss_scaling.growth_interval": 100,
                "loss_scaling.backoff_factor": 0.8,
            },
        ),
        (
            "python -m paddle.distributed.launch --gpus 0,1 t.py --use_amp --use_recompute true "
            "--use_fleet true",
            {
                "framework": "paddle",
                "precision.compute_dtype": "float16",
                "activation_checkpointing": "yes",
                "parallel.kind": "fleet",
                "parallel.world_size": 2,
            },
        ),
        (
            "python -m paddle.distributed.launch t.py --lr 2e-5",
            {"framework": "paddle", "parallel.kind": "paddle_dp", "precision.enabled": None},
        ),
        (
            "python paddle_tools/t.py --amp --update-freq 4",
            {"framework": "paddle", "precision.enabled": "always", "accumulation.steps": 4},
        ),
        ("python tools/t.py --amp --update-freq 4", {"framework": None}),
        (
            "export TF_ENABLE_AUTO_MIXED_PRECISION=1\npython t.py",
            {
                "framework": "tensorflow",
                "api": "tf_env_amp",
                "precision.enabled": "always",
                "loss_scaling.mode": "env_default",
            },
        ),
        (
            "TF_ENABLE_AUTO_MIXED_PRECISION=0 NVIDIA_TF32_OVERRIDE=0 python t.py",
            {"precision.enabled": None, "precision.tf32": "no"},
        ),
        ("CUDA_VISIBLE_DEVICES=3 python t.py " + TRAINER, {"parallel.kind": "none"}),
        ("torchrun --nproc_per_node 2 t.py", {"parallel.kind": "ddp", "framework": "pytorch"}),
        ("horovodrun -np 2 python t.py", {"parallel.kind": "horovod", "framework": None}),
    ],
)
def test_what_a_command_says(text: str, expected: dict[str, Any]) -> None:
    found = best(text)
    assert {field: found.get(field) for field in expected} == expected


@pytest.mark.parametrize("text", ["", " --in_tokens true"])
def test_a_batch_counted_in_tokens_or_nobody_knows_how(text: str) -> None:
    found = shell(f"python t.py {PADDLE} --use_fp16=true --batch_size 8192{text}").facts
    assert not [f for f in found if f.field == "batch.micro_batch_size"]


@pytest.mark.parametrize(
    "text",
    [
        "python t.py --lr 0.1 --epochs 3 --batch_size 4",
        "python t.py --learning_rate 0.1 --seed 1",
        "python t.py --use_fp16 --use_xla --horovod",
        "python t.py --precision high --output x",
        "python e.py --num_warmup_steps 3 --lr_scheduler_type linear --save_steps 1 --do_train",
        "python convert.py --arch x --task y",
    ],
)
def test_flags_that_belong_to_nobody(text: str) -> None:
    assert not any(f.field.startswith(("precision", "accumulation")) for f in shell(text).facts)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"python t.py {TRAINER} --fp16 --bf16", "CC925"),
        (f"python t.py {MEGATRON} --bf16 --loss-scale 8", "CC927"),
        (f"python t.py {PADDLE} --use_fp16 false --loss_scaling 8.0", "CC927"),
        (f"python t.py {TRAINER} --lr_scheduler_type constant --warmup_ratio 0.1", "CC926"),
        (f"torchrun --nproc_per_node 8 t.py {MEGATRON} --tensor-model-parallel-size 16", "CC928"),
    ],
)
def test_contradictions(text: str, code: str) -> None:
    assert codes(shell(text)) == [code]


def test_an_unknown_switch_is_no_certainty() -> None:
    found = best(f"python t.py {PADDLE} --use_fp16 $FP16")
    assert found["precision.compute_dtype"].startswith("? ")
    assert "precision.enabled" not in found


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


def test_a_shared_name_beside_lightnings_own() -> None:
    found = best("python t.py --log_every_n_steps 5 --devices 2 --max_epochs 3 --precision 16")
    assert found["api"] == "lightning"
    assert "api" not in best("python t.py --log_every_n_steps 5 --precision 16 --lr 0.1")


HEREDOC = """cat <<EOT > ds.json
{"train_micro_batch_size_per_gpu": 4, "train_batch_size": 64,
 "fp16": {"enabled": true, "loss_scale": 0, "loss_scale_window": 500, "initial_scale_power": 12}}
EOT
"""


def test_the_engines_own_file_says_how_losses_are_scaled() -> None:
    command = f"torchrun --nproc_per_node 8 t.py {MEGATRON} --fp16 --loss-scale 12 --deepspeed"
    found = best(f"{HEREDOC}{command} --deepspeed_config ds.json")
    assert found["loss_scaling.mode"] == "dynamic"
    assert found["loss_scaling.init_scale"] == 4096.0
    assert "loss_scaling.scale" not in found
    assert best(command)["loss_scaling.mode"] == "static"


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
        ("accelerate launch --mixed_precision fp16 run.py --config c.json", True),
        ("accelerate launch --mixed_precision fp16 sample.py --learning_rate 0.1", True),
        ("accelerate launch --mixed_precision fp16 test_train.py", True),
        ("accelerate launch --mixed_precision fp16 evaluator_of_runs.py", True),
    ],
)
def test_programs_that_evaluate(command: str, told: bool) -> None:
    fields = {fact.field for fact in shell(command + "\n").facts}
    assert bool(fields & {"precision.enabled", "parallel.kind"}) is told


@pytest.mark.parametrize(
    ("flags", "warmup", "there"),
    [
        ("--warmup-ratio=0.05", "0.05 of all", "yes"),
        ("--warmup-updates 0", "0 steps", "no"),
        ("--warmup-updates 0 --warmup-ratio 0.1", "0.1 of all", "yes"),
        ("", None, None),
    ],
)
def test_warmups_of_fairseq(flags: str, warmup: str | None, there: str | None) -> None:
    found = best(f"python t.py {FAIRSEQ} --lr-scheduler polynomial_decay {flags}\n")
    assert found.get("schedule.has_warmup") == there
    assert found.get("schedule.warmup") == warmup
