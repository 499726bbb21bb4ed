"""Configurations of trainers in YAML."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.readers import (
    accelerate_yaml,
    axolotl_yaml,
    composer_yaml,
    lightning_yaml,
    llama_factory_yaml,
    model_garden_yaml,
    nemo_yaml,
    neox_yaml,
    paddle_yaml,
    torchtune_yaml,
)
from crosscast.readers.protocol import Reading
from crosscast.readers.yaml_format import YamlFormat
from crosscast.source import Source
from reader_texts import all_told, codes, line_of, read, shown, told

ACCELERATE = """compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
mixed_precision: fp16
num_processes: 4
machine_rank: 0
"""
AXOLOTL = """base_model: some/model
datasets:
  - path: some/data
    type: alpaca
sequence_len: 512
micro_batch_size: 3
gradient_accumulation_steps: 5
num_epochs: 2
optimizer: adamw_torch
lr_scheduler: linear
learning_rate: 1e-4
warmup_steps: 7
bf16: true
gradient_checkpointing: true
"""
FACTORY = """model_name_or_path: some/model
stage: sft
do_train: true
finetuning_type: lora
template: default
cutoff_len: 256
per_device_train_batch_size: 2
gradient_accumulation_steps: 6
learning_rate: 1.0e-4
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
fp16: true
"""
TORCHTUNE = """model:
  _component_: torchtune.models.some_model
tokenizer:
  max_seq_len: 128
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
  weight_decay: 0.02
lr_scheduler:
  _component_: torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup
  num_warmup_steps: 11
batch_size: 2
clip_grad_norm: 1.5
gradient_accumulation_steps: 4
dtype: bf16
enable_activation_checkpointing: True
"""
COMPOSER = """max_duration: 30ep
precision: amp_bf16
global_train_batch_size: 64
device_train_microbatch_size: 8
algorithms:
  gradient_clipping:
    clipping_type: norm
    clipping_threshold: 0.7
optimizer:
  name: decoupled_adamw
  lr: 6.0e-4
  betas: [0.9, 0.95]
scheduler:
  name: cosine_with_warmup
  t_warmup: 100ba
fsdp_config:
  activation_checkpointing: true
"""
LITGPT = """checkpoint_dir: some/model
out_dir: out
precision: bf16-true
devices: 2
train:
  global_batch_size: 16
  micro_batch_size: 2
  lr_warmup_steps: 5
  max_norm: 1.0
optimizer:
  class_path: torch.optim.AdamW
  init_args:
    lr: 2e-4
    betas: [0.9, 0.95]
seed: 1
"""
LIGHTNING = """seed_everything: 3
trainer:
  precision: 16-mixed
  accumulate_grad_batches: 4
  gradient_clip_val: 0.5
  max_epochs: 9
  strategy: ddp
model:
  class_path: some.Model
optimizer:
  class_path: torch.optim.SGD
  init_args: {lr: 1e-1, momentum: 0.9, weight_decay: 1e-4}
"""
NEMO = """trainer:
  devices: 4
  num_nodes: 2
  precision: 16
  gradient_clip_val: 1.0
  max_steps: 500
exp_manager:
  create_checkpoint_callback: True
model:
  micro_batch_size: 2
  global_batch_size: 64
  tensor_model_parallel_size: 2
  megatron_amp_O2: True
  activations_checkpoint_granularity: full
  optim:
    name: fused_adam
    lr: 2e-4
    betas: [0.9, 0.98]
    sched: {name: CosineAnnealing, warmup_steps: 20}
"""
NEOX = """{
  "pipe_parallel_size": 1,
  "model_parallel_size": 1,
  "num_layers": 2,
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 2,
  "optimizer": {"type": "Adam", "params": {"lr": 0.0006, "betas": [0.9, 0.95]}},
  "precision": "bfloat16",
  "gradient_clipping": 0.9,
  "weight_decay": 0.1,
  "checkpoint_activations": True,  # yes
  "train_iters": 100,
  "lr_decay_style": "cosine",
  "warmup": 0.01,
}
"""
GARDEN = """runtime:
  distribution_strategy: mirrored
  mixed_precision_dtype: float16
  loss_scale: dynamic
task:
  train_data: {global_batch_size: 128}
  losses: {l2_weight_decay: 0.0001}
trainer:
  train_steps: 1000
  steps_per_loop: 10
  optimizer_config:
    optimizer: {type: sgd, sgd: {momentum: 0.9}}
    learning_rate: {type: cosine, cosine: {initial_learning_rate: 0.1, decay_steps: 1000}}
    warmup: {type: linear, linear: {warmup_steps: 50}}
"""
DETECTION = """_BASE_: [base.yml]
epoch: 12
amp: true
LearningRate:
  base_lr: 0.01
  schedulers:
  - !PiecewiseDecay
    gamma: 0.1
    milestones: [8, 11]
  - !LinearWarmup
    start_factor: 0.1
    steps: 100
OptimizerBuilder:
  clip_grad_by_norm: 35
  optimizer: {type: Momentum, momentum: 0.9}
  regularizer: {factor: 0.0001, type: L2}
"""
CLAS = """Global:
  epochs: 90
AMP:
  use_amp: True
  scale_loss: 128.0
  use_dynamic_loss_scaling: True
  level: O2
Optimizer:
  name: AdamW
  beta1: 0.9
  epsilon: 1e-8
  weight_decay: 0.05
  lr: {name: Cosine, learning_rate: 1.0e-3, warmup_epoch: 5}
DataLoader:
  Train: {sampler: {batch_size: 32}}
"""
CASES: list[tuple[YamlFormat, str, dict[str, Any]]] = [
    (
        accelerate_yaml.READER,
        ACCELERATE,
        {
            "precision.default_dtype": "fp16",
            "loss_scaling.mode": "library",
            "parallel.kind": "ddp",
            "parallel.world_size": 4,
            "accumulation.present": None,
        },
    ),
    (
        axolotl_yaml.READER,
        AXOLOTL,
        {
            "precision.default_dtype": "bf16",
            "loss_scaling.mode": "none",
            "accumulation.steps": 5,
            "batch.micro_batch_size": 3,
            "optimizer.family": "adamw",
            "optimizer.lr": 1e-4,
            "schedule.decay": "linear",
            "schedule.warmup": "7 steps",
            "activation_checkpointing.mode": "yes",
            "clip.kind": "library_default",
        },
    ),
    (
        llama_factory_yaml.READER,
        FACTORY,
        {
            "precision.default_dtype": "fp16",
            "accumulation.steps": 6,
            "optimizer.lr": 1e-4,
            "clip.value": 1.0,
            "schedule.decay": "cosine",
            "schedule.warmup": "0.1 of all",
            "run.sequence_length": 256,
        },
    ),
    (
        torchtune_yaml.READER,
        TORCHTUNE,
        {
            "precision.default_dtype": "bf16",
            "precision.mode": "full",
            "loss_scaling.mode": "none",
            "accumulation.steps": 4,
            "accumulation.loss_divided": "token_normalised",
            "clip.value": 1.5,
            "optimizer.lr": 2e-5,
            "optimizer.weight_decay": 0.02,
            "schedule.decay": "cosine",
            "schedule.warmup": "11 steps",
            "activation_checkpointing.mode": "yes",
        },
    ),
    (
        composer_yaml.READER,
        COMPOSER,
        {
            "precision.default_dtype": "bf16",
            "accumulation.present": "yes",
            "clip.kind": "global_norm",
            "clip.value": 0.7,
            "optimizer.family": "adamw",
            "optimizer.beta2": 0.95,
            "schedule.decay": "cosine",
            "schedule.warmup": "100 steps",
            "run.epochs": 30,
            "parallel.kind": "fsdp",
            "activation_checkpointing.mode": "yes",
        },
    ),
    (
        lightning_yaml.LITGPT,
        LITGPT,
        {
            "precision.default_dtype": "bf16",
            "precision.mode": "full",
            "accumulation.steps": 4,
            "parallel.world_size": 2,
            "clip.value": 1.0,
            "optimizer.family": "adamw",
            "optimizer.lr": 2e-4,
            "optimizer.beta2": 0.95,
            "schedule.warmup": "5 steps",
        },
    ),
    (
        lightning_yaml.READER,
        LIGHTNING,
        {
            "precision.default_dtype": "fp16",
            "loss_scaling.mode": "library",
            "accumulation.steps": 4,
            "clip.value": 0.5,
            "parallel.kind": "ddp",
            "optimizer.family": "sgd",
            "optimizer.l2": 1e-4,
            "optimizer.momentum": 0.9,
            "run.seed": 3,
        },
    ),
    (
        nemo_yaml.READER,
        NEMO,
        {
            "precision.default_dtype": "fp16",
            "precision.level": "O2",
            "accumulation.steps": 8,
            "parallel.kind": "megatron",
            "parallel.world_size": 8,
            "optimizer.family": "adam",
            "optimizer.beta2": 0.98,
            "schedule.decay": "cosine",
            "schedule.warmup": "20 steps",
            "activation_checkpointing.mode": "yes",
            "clip.per": "step",
        },
    ),
    (
        neox_yaml.READER,
        NEOX,
        {
            "precision.default_dtype": "bf16",
            "loss_scaling.mode": "none",
            "accumulation.steps": 2,
            "clip.value": 0.9,
            "optimizer.family": "adamw",
            "optimizer.weight_decay": 0.1,
            "schedule.decay": "cosine",
            "schedule.warmup": "0.01 of all",
            "activation_checkpointing.mode": "yes",
        },
    ),
    (
        model_garden_yaml.READER,
        GARDEN,
        {
            "framework": "tensorflow",
            "precision.default_dtype": "fp16",
            "parallel.kind": "mirrored",
            "optimizer.family": "sgd",
            "optimizer.l2": 0.0001,
            "optimizer.lr": 0.1,
            "schedule.decay": "cosine",
            "schedule.warmup": "50 steps",
            "schedule.total_steps": 1000,
        },
    ),
    (
        paddle_yaml.READER,
        DETECTION,
        {
            "framework": "paddle",
            "precision.default_dtype": "fp16",
            "loss_scaling.mode": "framework_default",
            "clip.kind": "global_norm",
            "clip.value": 35,
            "optimizer.family": "sgd",
            "optimizer.l2": 0.0001,
            "schedule.decay": "multistep",
            "schedule.warmup": "100 steps",
            "run.epochs": 12,
        },
    ),
    (
        paddle_yaml.READER,
        CLAS,
        {
            "precision.default_dtype": "fp16",
            "precision.level": "O2",
            "loss_scaling.mode": "dynamic",
            "loss_scaling.init": 128.0,
            "optimizer.family": "adamw",
            "optimizer.weight_decay": 0.05,
            "schedule.decay": "cosine",
            "schedule.warmup": "5 epochs",
            "batch.micro_batch_size": 32,
        },
    ),
]
FORMATS = [
    *(accelerate_yaml.READER, axolotl_yaml.READER, composer_yaml.READER, nemo_yaml.READER),
    *(lightning_yaml.READER, lightning_yaml.LITGPT, llama_factory_yaml.READER, neox_yaml.READER),
    *(model_garden_yaml.READER, paddle_yaml.READER, torchtune_yaml.READER),
]


@pytest.mark.parametrize(("reader", "text", "expected"), CASES)
def test_what_a_configuration_says(reader: YamlFormat, text: str, expected: dict[str, Any]) -> None:
    found = read(reader, text, "c.yaml")
    best: dict[str, Any] = {}
    for fact in found.facts:  # what the file says wins over what the library would do
        if fact.field not in best or fact.layer.value != "library":
            best[fact.field] = shown(fact)
    assert {field: best.get(field) for field in expected} == expected


@pytest.mark.parametrize(("reader", "text", "expected"), CASES)
def test_a_configuration_has_one_owner(
    reader: YamlFormat, text: str, expected: dict[str, Any]
) -> None:
    assert [one for one in FORMATS if one.sniff(Source("c.yaml", text))] == [reader]


@pytest.mark.parametrize(
    "text",
    [
        "name: ci\non: [push]\njobs:\n  test:\n    runs-on: ubuntu\n",
        "version: 3\nservices:\n  web:\n    image: x\n",
        "model: resnet\nlr: 0.1\nepochs: 3\noptimizer: sgd\n",
        "trainer: foo\nmodel: bar\n",
        "train:\n  epochs: 3\nout_dir: x\n",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n",
        "base_model: x\nadapter: y\n",
        "runtime: python\ntask: build\n",
        "Global: 1\nother: 2\n",
        "distributed_type: star\n",
        "optimizer:\n  name: adam\nlr_scheduler: x\nloss: y\n",
        "- a\n- b\n",
        "just text",
        "",
    ],
)
def test_other_yaml_is_nobodys(text: str) -> None:
    assert [one.name for one in FORMATS if one.sniff(Source("c.yaml", text))] == []


def accelerate(text: str) -> Reading:
    return read(accelerate_yaml.READER, text, "c.yaml")


def test_accelerate_no_is_a_word() -> None:
    found = accelerate("distributed_type: 'NO'\nmixed_precision: no\nnum_processes: 1\n")
    assert told(found, "precision.enabled") == "never"
    assert told(found, "parallel.kind") == "none"


def test_accelerate_with_a_deepspeed_file() -> None:
    found = accelerate(
        "distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n"
        "  deepspeed_config_file: ds.json\n  gradient_accumulation_steps: 2\n"
    )
    assert found.mentions == ("ds.json",)
    assert str(told(found, "loss_scaling.mode")).startswith("? ds.json")
    assert codes(found) == ["CC929", "CC929"]


def test_accelerate_with_deepspeed_inside() -> None:
    found = accelerate(
        "distributed_type: DEEPSPEED\nmixed_precision: fp16\ndeepspeed_config:\n"
        "  zero_stage: 3\n  gradient_accumulation_steps: 2\n  gradient_clipping: 1.0\n"
    )
    assert told(found, "parallel.kind") == "deepspeed_zero3"
    assert told(found, "accumulation.steps") == 2
    assert told(found, "clip.value") == 1.0
    assert line_of(found, "accumulation.steps") == 5


def test_axolotl_auto_precision_and_contradictions() -> None:
    found = read(axolotl_yaml.READER, AXOLOTL.replace("bf16: true", "bf16: auto"), "c.yaml")
    assert told(found, "precision.default_dtype") == "bf16_or_fp16"
    assert all_told(found, "precision.dtypes") == {"bf16", "fp16"}
    both = read(axolotl_yaml.READER, AXOLOTL + "fp16: true\nwarmup_ratio: 0.1\n", "c.yaml")
    assert sorted(codes(both)) == ["CC925", "CC930"]


def test_a_constant_schedule_does_not_warm_up() -> None:
    text = FACTORY.replace("cosine", "constant")
    assert codes(read(llama_factory_yaml.READER, text, "c.yaml")) == ["CC926"]


def test_llama_factory_reads_what_pyyaml_reads() -> None:
    text = FACTORY.replace("1.0e-4", "1e-4")
    assert "CC924" in codes(read(llama_factory_yaml.READER, text, "c.yaml"))


def test_megatron_sizes_that_do_not_fit() -> None:
    text = NEMO.replace("tensor_model_parallel_size: 2", "tensor_model_parallel_size: 3")
    assert "CC928" in codes(read(nemo_yaml.READER, text, "c.yaml"))


def test_a_paddle_schedule_that_never_falls() -> None:
    text = DETECTION.replace("gamma: 0.1", "gamma: 1.0").replace("amp: true\n", "")
    found = read(paddle_yaml.READER, text, "c.yaml")
    assert told(found, "schedule.decay") == "none"
    assert told(found, "precision.enabled") == "inherit"
    assert found.mentions == ("base.yml",)


def test_paddle_static_scale_and_bf16() -> None:
    static = CLAS.replace("scaling: True", "scaling: False")
    assert told(read(paddle_yaml.READER, static, "c.yaml"), "loss_scaling.mode") == "static"
    brain = CLAS.replace("level: O2", "level: O2\n  dtype: bfloat16")
    assert told(read(paddle_yaml.READER, brain, "c.yaml"), "loss_scaling.mode") == "none"
