"""Configurations of trainers in YAML, and what they say."""

from __future__ import annotations

from typing import Any

from crosscast_paddle.reading import paddle_yaml
from crosscast_reading.readers.config import (
    accelerate_yaml,
    axolotl_yaml,
    composer_yaml,
    lightning_yaml,
    llama_factory_yaml,
    nemo_yaml,
    neox_yaml,
    torchtune_yaml,
)
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_tensorflow.reading import model_garden_yaml

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
            "precision.compute_dtype": "float16",
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
            "precision.compute_dtype": "bfloat16",
            "loss_scaling.mode": "none",
            "accumulation.steps": 5,
            "batch.micro_batch_size": 3,
            "optimizer.name": "adamw",
            "optimizer.learning_rate": 1e-4,
            "schedule.name": "linear",
            "schedule.warmup": "7 steps",
            "activation_checkpointing": "yes",
            "clipping.kind": "library_default",
        },
    ),
    (
        llama_factory_yaml.READER,
        FACTORY,
        {
            "precision.compute_dtype": "float16",
            "accumulation.steps": 6,
            "optimizer.learning_rate": 1e-4,
            "clipping.value": 1.0,
            "schedule.name": "cosine",
            "schedule.warmup": "0.1 of all",
            "data.sequence_length": 256,
        },
    ),
    (
        torchtune_yaml.READER,
        TORCHTUNE,
        {
            "precision.compute_dtype": "bfloat16",
            "precision.mode": "full",
            "loss_scaling.mode": "none",
            "accumulation.steps": 4,
            "accumulation.loss_divided": "token_normalised",
            "clipping.value": 1.5,
            "optimizer.learning_rate": 2e-5,
            "optimizer.weight_decay": 0.02,
            "schedule.name": "cosine",
            "schedule.warmup": "11 steps",
            "activation_checkpointing": "yes",
        },
    ),
    (
        composer_yaml.READER,
        COMPOSER,
        {
            "precision.compute_dtype": "bfloat16",
            "accumulation.present": "yes",
            "clipping.kind": "global_norm",
            "clipping.value": 0.7,
            "optimizer.name": "adamw",
            "optimizer.betas.1": 0.95,
            "schedule.name": "cosine",
            "schedule.warmup": "100 steps",
            "run.epochs": 30,
            "parallel.kind": "fsdp",
            "activation_checkpointing": "yes",
        },
    ),
    (
        lightning_yaml.LITGPT,
        LITGPT,
        {
            "precision.compute_dtype": "bfloat16",
            "precision.mode": "full",
            "accumulation.steps": 4,
            "parallel.world_size": 2,
            "clipping.value": 1.0,
            "optimizer.name": "adamw",
            "optimizer.learning_rate": 2e-4,
            "optimizer.betas.1": 0.95,
            "schedule.warmup": "5 steps",
        },
    ),
    (
        lightning_yaml.READER,
        LIGHTNING,
        {
            "precision.compute_dtype": "float16",
            "loss_scaling.mode": "library",
            "accumulation.steps": 4,
            "clipping.value": 0.5,
            "parallel.kind": "ddp",
            "optimizer.name": "sgd",
            "optimizer.l2": 1e-4,
            "optimizer.momentum": 0.9,
            "seed": 3,
        },
    ),
    (
        nemo_yaml.READER,
        NEMO,
        {
            "precision.compute_dtype": "float16",
            "precision.level": "O2",
            "accumulation.steps": 8,
            "parallel.kind": "megatron",
            "parallel.world_size": 8,
            "optimizer.name": "adam",
            "optimizer.betas.1": 0.98,
            "schedule.name": "cosine",
            "schedule.warmup": "20 steps",
            "activation_checkpointing": "yes",
            "clipping.per": "step",
        },
    ),
    (
        neox_yaml.READER,
        NEOX,
        {
            "precision.compute_dtype": "bfloat16",
            "loss_scaling.mode": "none",
            "accumulation.steps": 2,
            "clipping.value": 0.9,
            "optimizer.name": "adamw",
            "optimizer.weight_decay": 0.1,
            "schedule.name": "cosine",
            "schedule.warmup": "0.01 of all",
            "activation_checkpointing": "yes",
        },
    ),
    (
        model_garden_yaml.READER,
        GARDEN,
        {
            "framework": "tensorflow",
            "precision.compute_dtype": "float16",
            "parallel.kind": "mirrored",
            "optimizer.name": "sgd",
            "optimizer.l2": 0.0001,
            "optimizer.learning_rate": 0.1,
            "schedule.name": "cosine",
            "schedule.warmup": "50 steps",
            "schedule.total_steps": 1000,
        },
    ),
    (
        paddle_yaml.READER,
        DETECTION,
        {
            "framework": "paddle",
            "precision.compute_dtype": "float16",
            "loss_scaling.mode": "framework_default",
            "clipping.kind": "global_norm",
            "clipping.value": 35,
            "optimizer.name": "sgd",
            "optimizer.l2": 0.0001,
            "schedule.name": "multistep",
            "schedule.warmup": "100 steps",
            "run.epochs": 12,
        },
    ),
    (
        paddle_yaml.READER,
        CLAS,
        {
            "precision.compute_dtype": "float16",
            "precision.level": "O2",
            "loss_scaling.mode": "dynamic",
            "loss_scaling.init_scale": 128.0,
            "optimizer.name": "adamw",
            "optimizer.weight_decay": 0.05,
            "schedule.name": "cosine",
            "schedule.warmup": "5 epochs",
            "batch.micro_batch_size": 32,
        },
    ),
]
