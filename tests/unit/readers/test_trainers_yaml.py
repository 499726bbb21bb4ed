"""YAML with arguments of the Trainer, and files that two readers could take for theirs."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.readers.config import (
    deepspeed_json,
    hf_arguments_json,
    llama_factory_yaml,
    neox_yaml,
)
from reading_helpers.reader_texts import read, value_of

TRL = """\
model_name_or_path: some/model
bf16: true
do_eval: true
eval_strategy: epoch
gradient_accumulation_steps: 4
gradient_checkpointing: true
learning_rate: 3.0e-04
lr_scheduler_type: cosine
logging_steps: 5
max_seq_length: 1024
num_train_epochs: 2
per_device_train_batch_size: 2
save_strategy: "no"
warmup_ratio: 0.1
"""
NEOX = """{
  "pipe-parallel-size": 1,
  "model-parallel-size": 1,
  "pos-emb": "rotary",
  "optimizer": {"type": "Adam", "params": {"lr": 0.001, "betas": [0.9, 0.95]}},
  "zero_optimization": {"stage": 1},
  "train_micro_batch_size_per_gpu": 2,
  "gradient_clipping": 0.5,
  "weight-decay": 0.1,
  "checkpoint-activations": true,
  "fp16": {"enabled": true, "loss_scale": 0},
  "train-iters": 100,
  "lr-decay-style": "cosine",
  "warmup": 0.01
}
"""


def test_arguments_of_the_trainer_in_yaml() -> None:
    reading = read(hf_arguments_json.READER, TRL, "sft.yaml")
    assert value_of(reading, "api") == "hf_trainer"
    assert value_of(reading, "precision.compute_dtype") == "bfloat16"
    assert value_of(reading, "accumulation.steps") == 4
    assert value_of(reading, "optimizer.learning_rate") == 3e-4
    assert value_of(reading, "schedule.name") == "cosine"
    assert value_of(reading, "activation_checkpointing") == "yes"
    assert value_of(reading, "data.sequence_length") == 1024


@pytest.mark.parametrize(
    "text",
    [
        "learning_rate: 1e-3\nnum_train_epochs: 2\nbatch_size: 4\n",
        "report_to: wandb\nlogging_steps: 10\nsave_steps: 10\nmodel_name_or_path: a\noptim: b\n",
        TRL + "finetuning_type: lora\nstage: sft\n",
    ],
    ids=["a loop of its own", "nothing is trained", "LLaMA-Factory"],
)
def test_yaml_of_others(text: str) -> None:
    assert not hf_arguments_json.READER.sniff(Source("a.yaml", text))


def test_llama_factory_keeps_its_files() -> None:
    text = TRL + "finetuning_type: lora\nstage: sft\n"
    assert llama_factory_yaml.READER.sniff(Source("a.yaml", text))


def test_gpt_neox_in_plain_json_is_not_deepspeeds_own_file() -> None:
    source = Source("model.yml", NEOX)
    assert neox_yaml.READER.sniff(source)
    assert not deepspeed_json.READER.sniff(source)
    reading = read(neox_yaml.READER, NEOX, "model.yml")
    assert value_of(reading, "schedule.name") == "cosine"
    assert value_of(reading, "optimizer.weight_decay") == 0.1
    assert value_of(reading, "activation_checkpointing") == "yes"


@pytest.mark.parametrize(
    "line",
    [
        "sharding: stage2",
        "unified_checkpoint: true",
        "tensor_parallel_degree: 1",
        "_attn_implementation: flashmask",
        "stage: SFT\ntemplate: plain\nunified_checkpoint: true",
    ],
)
def test_arguments_of_paddles_trainers_in_yaml(line: str) -> None:
    text = f"{TRL}{line}\n"
    assert not llama_factory_yaml.READER.sniff(Source("c.yaml", text))
    reading = read(hf_arguments_json.READER, text, "c.yaml")
    assert value_of(reading, "framework") == "paddle"
    assert value_of(reading, "api") == "paddle_yaml"
    assert value_of(reading, "parallel.kind") == "library"
    assert value_of(reading, "schedule.stepped_per") == "step"
    assert value_of(reading, "precision.compute_dtype") == "bfloat16"


def test_float16_of_paddles_trainers() -> None:
    text = TRL.replace("bf16: true", "compute_type: fp16\npipeline_parallel_degree: 2")
    reading = read(hf_arguments_json.READER, text, "c.yaml")
    assert value_of(reading, "loss_scaling.mode") == "dynamic"
    assert value_of(reading, "schedule.on_skip") == "guarded"
    assert value_of(reading, "parallel.kind") == "fleet_hybrid"


@pytest.mark.parametrize("line", ["_attn_implementation: sdpa", "recompute_granularity: full"])
def test_arguments_of_hugging_face_alone(line: str) -> None:
    reading = read(hf_arguments_json.READER, f"{TRL}{line}\n", "c.yaml")
    assert value_of(reading, "framework") == "pytorch"
