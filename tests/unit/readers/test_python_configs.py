"""Configurations that are Python modules."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python import config_dicts as py_config_dicts
from crosscast_reading.readers.python import mmengine as py_mmengine
from crosscast_reading.readers.python.config_tree import assigned
from reading_helpers.reader_texts import shown

ENGINE = """_base_ = ['./base.py']
rate = 1e-3
optim_wrapper = dict(
    type='AmpOptimWrapper', loss_scale=dict(init_scale=1024., growth_interval=500),
    accumulative_counts=4,
    optimizer=dict(type='AdamW', lr=rate * 2, betas=(0.9, 0.95), weight_decay=0.05),
    clip_grad=dict(max_norm=1.0),
    paramwise_cfg=dict(norm_decay_mult=0.0))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=100),
    dict(type='CosineAnnealingLR', by_epoch=False, begin=100)]
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=30)
train_dataloader = dict(batch_size=16)
"""
MMCV = """optimizer = dict(type='SGD', lr=0.02, momentum=0.9, weight_decay=0.0001)
optimizer_config = dict(grad_clip=dict(max_norm=35, norm_type=2))
lr_config = dict(policy='step', warmup='linear', warmup_iters=500, step=[8, 11])
runner = dict(type='EpochBasedRunner', max_epochs=12)
fp16 = dict(loss_scale=512.)
data = dict(samples_per_gpu=2)
"""
SEQ = """import tensorflow as tf
from open_seq2seq.models import Some
from open_seq2seq.optimizers.lr_policies import poly_decay
base_model = Some
base_params = {
    "use_horovod": False, "num_gpus": 4, "batch_size_per_gpu": 32, "max_steps": 10,
    "dtype": "mixed", "loss_scaling": 1000.0, "iter_size": 2, "max_grad_norm": 15.0,
    "optimizer": "Momentum", "optimizer_params": {"momentum": 0.95},
    "lr_policy": poly_decay, "lr_policy_params": {"learning_rate": 0.05, "power": 2},
}
"""
BARE = """# overrides
batch_size = 12
gradient_accumulation_steps = 5 * 8
block_size = 1024
max_iters = 600
weight_decay = 1e-1
warmup_iters = 50
"""


def best(text: str) -> dict[str, Any]:
    program, _ = read_program([Source("conf.py", text)])
    found: dict[str, Any] = {}
    for reader in (py_mmengine.READER, py_config_dicts.READER):
        for fact in reader.read(program):
            if fact.field not in found or fact.layer.value != "library":
                found[fact.field] = shown(fact)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ENGINE,
            {
                "api": "mmengine",
                "precision.compute_dtype": "float16",
                "loss_scaling.mode": "dynamic",
                "loss_scaling.init_scale": 1024.0,
                "loss_scaling.growth_interval": 500,
                "accumulation.steps": 4,
                "clipping.value": 1.0,
                "optimizer.name": "adamw",
                "optimizer.learning_rate": 2e-3,
                "optimizer.betas.1": 0.95,
                "optimizer.no_decay": "yes",
                "schedule.name": "cosine",
                "schedule.warmup": "100 steps",
                "schedule.stepped_per": "step",
                "run.epochs": 30,
                "batch.micro_batch_size": 16,
            },
        ),
        (
            ENGINE.replace("loss_scale=dict(init_scale=1024., growth_interval=500)", "x=1"),
            {"loss_scaling.mode": "framework_default"},
        ),
        (
            ENGINE.replace("'AmpOptimWrapper'", "'AmpOptimWrapper', dtype='bfloat16'"),
            {"precision.compute_dtype": "bfloat16"},
        ),
        (
            ENGINE.replace("AmpOptimWrapper", "OptimWrapper"),
            {"precision.enabled": "never", "loss_scaling.mode": "none"},
        ),
        (
            MMCV,
            {
                "api": "mmcv1",
                "precision.compute_dtype": "float16",
                "loss_scaling.mode": "static",
                "loss_scaling.scale": 512.0,
                "clipping.value": 35,
                "optimizer.name": "sgd",
                "optimizer.l2": 0.0001,
                "schedule.name": "multistep",
                "schedule.warmup": "500 steps",
                "schedule.stepped_per": "epoch",
            },
        ),
        (MMCV.replace("loss_scale=512.", "loss_scale='dynamic'"), {"loss_scaling.mode": "dynamic"}),
        (
            MMCV.replace(
                "dict(grad_clip",
                "dict(type='GradientCumulativeOptimizerHook', cumulative_iters=3, grad_clip",
            ),
            {"accumulation.steps": 3, "accumulation.loss_divided": "library"},
        ),
        (
            MMCV.replace("fp16 = dict(loss_scale=512.)", "total_epochs = 3"),
            {"precision.enabled": "never"},
        ),
        (
            SEQ,
            {
                "framework": "tensorflow",
                "api": "openseq2seq",
                "precision.compute_dtype": "float16",
                "loss_scaling.mode": "static",
                "loss_scaling.scale": 1000.0,
                "accumulation.steps": 2,
                "clipping.value": 15.0,
                "optimizer.name": "sgd",
                "optimizer.momentum": 0.95,
                "optimizer.learning_rate": 0.05,
                "schedule.name": "polynomial",
                "parallel.kind": "towers",
            },
        ),
        (SEQ.replace('"mixed"', "tf.float32"), {"precision.enabled": "never"}),
        (
            BARE,
            {
                "api": "config_overrides",
                "accumulation.steps": 40,
                "batch.micro_batch_size": 12,
                "optimizer.weight_decay": 0.1,
                "precision.enabled": "inherit",
                "schedule.warmup": "50 steps",
            },
        ),
    ],
)
def test_what_a_module_says(text: str, expected: dict[str, Any]) -> None:
    found = best(text)
    assert {field: found.get(field) for field in expected} == expected


def test_deepspeed_within_a_strategy() -> None:
    text = ENGINE + (
        "strategy = dict(type='DeepSpeedStrategy', fp16=dict(enabled=True, loss_scale=0, "
        "hysteresis=1), zero_optimization=dict(stage=3))\n"
    )
    found = best(text)
    assert found["parallel.kind"] == "deepspeed_zero3"
    assert found["loss_scaling.hysteresis"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "optimizer = dict(type='SGD')\nprint(optimizer)\n",
        "optimizer = 'sgd'\nlr_config = 3\nfp16 = True\n",
        "class A:\n    pass\noptim_wrapper = dict(type='AmpOptimWrapper')\n",
        "batch_size = 3\nlearning_rate = 1\n\ndef train():\n    for _ in range(3):\n        a = 1\n"
        "        b = 2\n        c = 3\n    d = 4\n    e = 5\n    f = 6\n    g = 7\n",
        "base_params = {'dtype': 'mixed'}\n",
        "learning_rate = 0.1\nname = 'x'\n",
        "import torch\nlearning_rate = 0.1\nbatch_size = 3\nmax_iters = 4\nmodel = f()\n"
        "for i in range(3):\n    model(i)\n",
        "",
        "# nothing",
        "base_params = {'dtype': 'mixed', 'optimizer': 'Adam'}\n",
    ],
)
def test_other_modules_say_nothing(text: str) -> None:
    assert best(text) == {}


@pytest.mark.parametrize(
    ("given", "name", "unit"),
    [
        ("step=[27, 33]", "multistep", "epoch"),
        ("step=3", "step", "epoch"),
        ("step=[900], by_epoch=False", "multistep", "step"),
        ("min_lr=0", None, None),
    ],
)
def test_milestones_of_a_policy_that_is_inherited(
    given: str, name: str | None, unit: str | None
) -> None:
    found = best(
        MMCV.replace("policy='step', warmup='linear', warmup_iters=500, step=[8, 11]", given)
    )
    assert (found.get("schedule.name"), found.get("schedule.stepped_per")) == (name, unit)


def test_apex_by_a_hook() -> None:
    hook = "optimizer_config = dict(type='DistOptimizerHook', use_fp16=True)\n"
    found = best(MMCV.replace("fp16 = dict(loss_scale=512.)\n", hook))
    assert found["loss_scaling.mode"] == "framework_default"


def test_what_the_command_sets_counts_more_than_overrides() -> None:
    flag = Fact(field="command.flag", expression="--batch_size", value="64")
    command = Command(program="train.py", flags=(flag,))
    program, _ = read_program([Source("conf.py", BARE)], launch=command)
    fields = {fact.field for fact in py_config_dicts.READER.read(program)}
    assert "accumulation.steps" in fields
    assert "batch.micro_batch_size" not in fields


@pytest.mark.parametrize(("before", "after"), [("dict(a=", ")"), ('{"a": ', "}"), ("[", "]")])
def test_a_configuration_that_is_nested_too_deeply(before: str, after: str) -> None:
    nested = f"optim_wrapper = dict(optimizer={before * 60}3{after * 60})"
    assert best(f"{nested}\ntrain_cfg = dict(max_epochs=3)")["run.epochs"] == 3
    program, _ = read_program([Source("conf.py", nested)])
    tree = assigned(program.modules[0]).section("optim_wrapper", "optimizer")
    assert [each.reason for each in tree.walk() if each.reason] == ["nested too deeply"]


SPLIT = """per_device_train_batch_size: int = 4
save_steps = 500
lr_scheduler_type = "linear"
learning_rate = 2e-4
gradient_accumulation_steps = 8
max_grad_norm = 0.5
fp16 = True
scale_loss = 4096
recompute = True
tensor_parallel_degree = 4
sharding_parallel_degree = 1
"""


def test_arguments_of_paddlenlps_trainer() -> None:
    found = best(SPLIT)
    assert found["framework"] == "paddle"
    assert found["parallel.kind"] == "fleet_hybrid"
    assert found["loss_scaling.init_scale"] == 4096
    assert found["accumulation.steps"] == 8
    assert found["clipping.value"] == 0.5
    assert found["activation_checkpointing"] == "yes"
    assert "parallel.kind" not in best(SPLIT.replace("degree = 4", "degree = 1"))
    others = SPLIT.replace("scale_loss", "x").replace("recompute", "y").replace("parallel_d", "d")
    assert best(others).get("framework") != "paddle"
    assert best(SPLIT + "train(fp16)\n") == {}
    assert best(SPLIT + "class Config:\n    fp16 = True\n") == {}


def test_arguments_that_a_program_imports() -> None:
    sources = [Source("train.py", "import settings\n"), Source("settings.py", SPLIT)]
    assert [*py_config_dicts.READER.read(read_program(sources)[0])] == []
