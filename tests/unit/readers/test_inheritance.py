"""Configurations that inherit from others by `_base_`, `_BASE_`, imports or `defaults`."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.lift.analysis import analyse
from crosscast.lift.precedence import settle
from crosscast.messages.source import Source
from crosscast.sources.grouping import group
from crosscast.sources.subject_builder import subject_of

Files = dict[str, str]


def sources(files: Files) -> list[Source]:
    return [Source(name, text) for name, text in files.items()]


def told(files: Files) -> dict[str, Any]:
    """Return what the first file says with the others beside it, by field."""
    settled = settle(subject_of(sources(files))[0].profile)
    return {
        field: found.fact.value if found.fact.known else f"? {found.fact.reason}"
        for (field, _), found in settled.items()
    }


def places(files: Files, field: str) -> set[str]:
    settled = settle(subject_of(sources(files))[0].profile)
    return {place.file for (name, _), s in settled.items() if name == field for place in s.places}


SCHEDULE = """optimizer = dict(type='SGD', lr=0.02, momentum=0.9, weight_decay=0.0001)
optimizer_config = dict(grad_clip=dict(max_norm=35, norm_type=2))
lr_config = dict(policy='step', warmup='linear', warmup_iters=500, step=[8, 11])
runner = dict(type='EpochBasedRunner', max_epochs=12)
"""
CHILD = """_base_ = ['../_base_/schedules/one.py', '../_base_/runtime.py']
model = dict(head=dict(classes=9))
optimizer = dict(lr=0.01)
fp16 = dict(loss_scale=512.)
"""
MM = {
    "configs/net/net.py": CHILD,
    "configs/_base_/schedules/one.py": SCHEDULE,
    "configs/_base_/runtime.py": "log_level = 'INFO'\nseed = 3\n",
}


def test_dictionaries_are_merged_with_those_of_the_bases() -> None:
    found = told(MM)
    assert found["optimizer.learning_rate"] == 0.01
    assert found["optimizer.name"] == "sgd"
    assert found["optimizer.momentum"] == 0.9
    assert found["clipping.value"] == 35
    assert found["loss_scaling.mode"] == "static"
    assert found["loss_scaling.scale"] == 512.0
    assert found["run.epochs"] == 12
    assert found["seed"] == 3


def test_every_value_has_the_place_where_it_stands() -> None:
    assert places(MM, "optimizer.learning_rate") == {"configs/net/net.py"}
    assert places(MM, "optimizer.momentum") == {"configs/_base_/schedules/one.py"}


def test_a_section_that_is_deleted_inherits_nothing() -> None:
    text = CHILD.replace("dict(lr=0.01)", "dict(_delete_=True, type='AdamW', lr=0.01)")
    found = told({**MM, "configs/net/net.py": text})
    assert found["optimizer.name"] == "adamw"
    assert "optimizer.momentum" not in found
    assert "optimizer.l2" not in found
    clip = text + "optimizer_config = dict(_delete_=True)\n"
    assert "clipping.kind" not in told({**MM, "configs/net/net.py": clip})


def test_lists_are_replaced() -> None:
    base = "optim_wrapper = dict(optimizer=dict(type='SGD', lr=1))\nparam_scheduler = [\n" + (
        "    dict(type='LinearLR', start_factor=0.1, by_epoch=False, begin=0, end=100),\n"
        "    dict(type='MultiStepLR', by_epoch=True, milestones=[8])]\n"
    )
    own = "_base_ = './base.py'\nparam_scheduler = [dict(type='CosineAnnealingLR', T_max=9)]\n"
    found = told({"a.py": own, "base.py": base})
    assert found["schedule.name"] == "cosine"
    assert "schedule.warmup" not in found


def test_a_base_of_a_base() -> None:
    found = told(
        {
            "a/c.py": "_base_ = './b.py'\noptimizer = dict(momentum=0.5)\n",
            "a/b.py": "_base_ = ['../a.py']\nlr_config = dict(policy='poly')\n",
            "a.py": SCHEDULE,
        }
    )
    assert found["optimizer.momentum"] == 0.5
    assert found["schedule.name"] == "polynomial"
    assert found["clipping.value"] == 35


def test_without_a_base_nothing_is_assumed() -> None:
    found = told({"configs/net/net.py": CHILD.replace("fp16 = dict(loss_scale=512.)\n", "")})
    assert found.get("precision.enabled") == "inherit"
    assert "optimizer.momentum" not in found
    assert "clipping.kind" not in found


def test_bases_that_name_each_other() -> None:
    files = {"a.py": f"_base_ = 'b.py'\n{SCHEDULE}", "b.py": "_base_ = 'a.py'\nseed = 1\n"}
    assert isinstance(told(files), dict)


def test_a_base_in_a_package_is_not_given() -> None:
    text = CHILD.replace("'../_base_/runtime.py'", "'mmdet::_base_/runtime.py'")
    found = told({**MM, "configs/net/net.py": text.replace("fp16 =", "other =")})
    assert found["optimizer.momentum"] == 0.9
    assert found["precision.enabled"] == "inherit"


def test_new_configurations_of_mmengine_import_their_bases() -> None:
    files = {
        "configs/a.py": "from mmengine.config import read_base\n\nwith read_base():\n"
        "    from ._base_.plan import *\n\n"
        "optim_wrapper.update(dict(clip_grad=dict(max_norm=0.5)))\n"
        "param_scheduler = [dict(type='CosineAnnealingLR')]\n",
        "configs/_base_/plan.py": "optim_wrapper = dict(type='AmpOptimWrapper', optimizer=dict("
        "type='AdamW', lr=1e-4))\nparam_scheduler = [dict(type='MultiStepLR')]\n",
    }
    found = told(files)
    assert found["optimizer.learning_rate"] == 1e-4
    assert found["clipping.value"] == 0.5
    assert found["schedule.name"] == "cosine"
    assert found["precision.compute_dtype"] == "float16"
    again = {**files, "configs/a.py": files["configs/a.py"] + "optim_wrapper = dict(x=1)\n"}
    assert "optimizer.learning_rate" not in told(again)  # an assignment replaces


RCNN = """MODEL:
  META_ARCHITECTURE: "GeneralizedRCNN"
SOLVER:
  IMS_PER_BATCH: 16
  BASE_LR: 0.02
  STEPS: (60000, 80000)
  MAX_ITER: 90000
VERSION: 2
"""
LONGER = """_BASE_: "../Base.yaml"
MODEL:
  MASK_ON: True
SOLVER:
  MAX_ITER: 270000
  AMP:
    ENABLED: True
  CLIP_GRADIENTS:
    ENABLED: True
    CLIP_TYPE: norm
    CLIP_VALUE: 0.5
"""
DETECTRON = {"configs/coco/mask.yaml": LONGER, "configs/Base.yaml": RCNN}


def test_detectron2() -> None:
    found = told(DETECTRON)
    assert found["optimizer.learning_rate"] == 0.02
    assert found["optimizer.name"] == "sgd"
    assert found["optimizer.momentum"] == 0.9
    assert found["optimizer.l2"] == 0.0001
    assert found["schedule.total_steps"] == 270000
    assert found["schedule.name"] == "multistep"
    assert found["schedule.warmup"] == "1000 steps"
    assert found["batch.global_batch_size"] == 16
    assert found["clipping.kind"] == "per_param_norm"
    assert found["clipping.value"] == 0.5
    assert found["precision.compute_dtype"] == "float16"
    assert found["loss_scaling.mode"] == "framework_default"


def test_detectron2_without_its_base_has_no_defaults() -> None:
    found = told({"configs/coco/mask.yaml": LONGER})
    assert found["schedule.total_steps"] == 270000
    for field in ("optimizer.name", "optimizer.momentum", "schedule.name", "schedule.warmup"):
        assert field not in found, field


@pytest.mark.parametrize(
    "text",
    [
        "SOLVER:\n  BASE_LR: 0.1\n  LR_POLICY: cosine\n  MAX_EPOCH: 9\nMODEL:\n  ARCH: slow\n",
        "SOLVER:\n  BASE_LR: 0.1\nMODEL:\n  NAME: resnet\n",
        "_BASE_: ../Base.yaml\nSOLVER:\n  OPT: Adam\n  MAX_EPOCH: 60\nMODEL:\n  NAME: x\n",
    ],
)
def test_other_tools_with_a_solver(text: str) -> None:
    assert told({"a.yaml": text}) == {}


def test_an_optimizer_of_a_project_on_detectron2() -> None:
    found = told({"a.yaml": RCNN.replace("  BASE_LR", "  OPTIMIZER: ADAMW\n  BASE_LR")})
    assert found["optimizer.name"].startswith("?")
    assert "optimizer.momentum" not in found
    assert "optimizer.l2" not in found


SEG = """batch_size: 4
iters: 1000
train_dataset: {type: Cityscapes}
optimizer: {type: sgd, momentum: 0.9, weight_decay: 4.0e-5}
lr_scheduler: {type: PolynomialDecay, learning_rate: 0.01, power: 0.9}
loss: {types: [{type: CrossEntropyLoss}]}
"""


def test_paddleseg() -> None:
    own = "_base_: '../_base_/city.yml'\nbatch_size: 2\noptimizer: {weight_decay: 0.0}\n"
    files = {"configs/net/a.yml": own, "configs/_base_/city.yml": SEG}
    found = told(files)
    assert found["batch.micro_batch_size"] == 2
    assert found["optimizer.momentum"] == 0.9
    assert found["optimizer.l2"] == 0.0
    assert found["schedule.name"] == "polynomial"
    alone = own.replace("{weight_decay: 0.0}", "{_inherited_: False, type: adam}")
    found = told({**files, "configs/net/a.yml": alone})
    assert found["optimizer.name"] == "adam"
    assert "optimizer.momentum" not in found


def test_paddledetection() -> None:
    own = "_BASE_: [\n  'base/opt.yml',\n  'base/run.yml',\n]\nLearningRate:\n  base_lr: 0.02\n"
    files = {
        "configs/a.yml": own,
        "configs/base/opt.yml": "epoch: 12\nLearningRate:\n  base_lr: 0.01\n  schedulers:\n"
        "  - !PiecewiseDecay\n    gamma: 0.1\nOptimizerBuilder:\n  clip_grad_by_norm: 0.1\n"
        "  optimizer: {type: AdamW, weight_decay: 0.0001}\n  regularizer: false\n",
        "configs/base/run.yml": "use_gpu: true\nlog_iter: 20\nsave_dir: output\n",
    }
    found = told(files)
    assert found["optimizer.learning_rate"] == 0.02
    assert found["run.epochs"] == 12
    assert found["clipping.value"] == 0.1
    assert found["schedule.name"] == "multistep"


PRIMARY = """# @package _global_
defaults:
  - _self_
  - data: mnist.yaml
  - model: mnist.yaml
  - logger: null # none
  # a comment
  - trainer: ddp.yaml
  - hydra: default.yaml
  - optional local: default.yaml
seed: 7
"""
HYDRA = {
    "configs/train.yaml": PRIMARY,
    "configs/data/mnist.yaml": "_target_: src.Data\nbatch_size: 64\n",
    "configs/model/mnist.yaml": "_target_: src.Net\noptimizer:\n"
    "  _target_: torch.optim.AdamW\n  _partial_: true\n  lr: 1e-3\n  weight_decay: 0.05\n"
    "scheduler:\n  _target_: torch.optim.lr_scheduler.CosineAnnealingLR\n  _partial_: true\n",
    "configs/trainer/ddp.yaml": "defaults:\n  - default\nstrategy: ddp\ndevices: 4\n",
    "configs/trainer/default.yaml": "_target_: lightning.pytorch.trainer.Trainer\n"
    "devices: 1\nprecision: 16\naccumulate_grad_batches: 2\nmax_epochs: ${epochs}\n",
}


def test_a_tree_of_hydra() -> None:
    found = told(HYDRA)
    assert found["seed"] == 7
    assert found["batch.micro_batch_size"] == 64
    assert found["optimizer.name"] == "adamw"
    assert found["optimizer.learning_rate"] == 1e-3
    assert found["schedule.name"] == "cosine"
    assert found["precision.compute_dtype"] == "float16"
    assert found["accumulation.steps"] == 2
    assert found["parallel.kind"] == ("ddp",)
    assert found["parallel.world_size"] == 4
    assert found["run.epochs"].startswith("?")


def test_an_experiment_of_hydra() -> None:
    experiment = (
        "# @package _global_\ndefaults:\n  - override /trainer: ddp.yaml\n"
        "  - override /model: mnist.yaml\ntrainer:\n  gradient_clip_val: 0.5\n"
        "model:\n  optimizer:\n    lr: 2e-3\n"
    )
    found = told({"configs/experiment/x.yaml": experiment, **HYDRA})
    assert found["clipping.value"] == 0.5
    assert found["optimizer.learning_rate"] == 2e-3
    assert found["accumulation.steps"] == 2


def test_the_order_of_defaults_decides() -> None:
    first = {"c.yaml": "defaults:\n  - _self_\n  - trainer: t\ntrainer:\n  max_epochs: 3\n"}
    last = {"c.yaml": "defaults:\n  - trainer: t\ntrainer:\n  max_epochs: 3\n"}
    part = {"trainer/t.yaml": "_target_: pytorch_lightning.Trainer\nmax_epochs: 5\n"}
    assert told({**first, **part})["run.epochs"] == 5
    assert told({**last, **part})["run.epochs"] == 3


@pytest.mark.parametrize(
    "text",
    [
        "optimizer:\n  _target_: mine.optim.Adam\n  lr: 1\n",
        "loss:\n  _target_: torch.nn.CrossEntropyLoss\n",
        "model:\n  target: ldm.models.Autoencoder\n  params: {embed_dim: 4}\n",
        "defaults:\n  - a\n  - b\nsteps: 3\n",
        "# _target_: torch.optim.Adam\nname: x\n",
    ],
)
def test_objects_of_other_kinds(text: str) -> None:
    assert told({"a.yaml": text}) == {}


DIFFUSION = """model:
  base_learning_rate: 2.0e-06
  target: ldm.models.diffusion.ddpm.LatentDiffusion
  params:
    scheduler_config:
      target: ldm.lr_scheduler.LambdaLinearScheduler
      params:
        warm_up_steps: [ 10000 ]
        cycle_lengths: [ 10000000000000 ]
        f_start: [ 1.e-6 ]
        f_max: [ 1. ]
        f_min: [ 1. ]
data:
  target: main.DataModuleFromConfig
  params:
    batch_size: 12
lightning:
  trainer:
    benchmark: True
    accumulate_grad_batches: 2
    precision: 16
"""


def test_latent_diffusion() -> None:
    found = told({"a.yaml": DIFFUSION})
    assert found["optimizer.learning_rate"].startswith("? main.py multiplies it")
    assert found["schedule.name"] == "constant"
    assert found["schedule.warmup"] == "10000 steps"
    assert found["batch.micro_batch_size"] == 12
    assert found["accumulation.steps"] == 2
    assert found["precision.compute_dtype"] == "float16"
    falling = DIFFUSION.replace("f_min: [ 1. ]", "f_min: [ 0.1 ]")
    assert told({"a.yaml": falling})["schedule.name"] == "linear"


FAIRSEQ = """common:
  fp16: true
  fp16_init_scale: 4
  seed: 5
task: {_name: masked_lm}
criterion: masked_lm
dataset: {batch_size: 16}
optimizer:
  _name: adam
  weight_decay: 0.01
  adam_betas: (0.9,0.98)
  adam_eps: 1e-06
lr_scheduler:
  _name: polynomial_decay
  warmup_updates: 10000
optimization:
  clip_norm: 1.5
  lr: [0.0005]
  max_update: 125000
  update_freq: [16]
"""


def test_fairseq() -> None:
    found = told({"base.yaml": FAIRSEQ})
    assert found["accumulation.steps"] == 16
    assert found["accumulation.loss_divided"] == "token_normalised"
    assert found["clipping.value"] == 1.5
    assert found["optimizer.learning_rate"] == 0.0005
    assert found["optimizer.betas.1"] == 0.98
    assert found["optimizer.weight_decay"] == 0.01
    assert found["schedule.name"] == "linear"
    assert found["schedule.warmup"] == "10000 steps"
    assert found["schedule.total_steps"] == 125000
    assert found["loss_scaling.init_scale"] == 4
    assert found["batch.micro_batch_size"] == 16
    off = told({"base.yaml": FAIRSEQ.replace("fp16: true", "fp16: false")})
    assert off["precision.enabled"] == "never"
    two = told({"base.yaml": FAIRSEQ.replace("[16]", "[16, 8]")})
    assert two["accumulation.steps"].startswith("?")
    assert told({"a.yaml": FAIRSEQ.replace("optimization:", "other:")}) == {}


LAZY = {
    "configs/net.py": "from .common.optim import AdamW as optimizer\n"
    "from .common.train import train\nfrom .common.plan import lr_multiplier\n"
    "optimizer.lr = 2e-4\ntrain.amp.enabled = True\ntrain.max_iter = 1000\n"
    "train['clip_grad'] = dict(enabled=True, params=dict(max_norm=0.1))\n",
    "configs/common/optim.py": "import torch\nfrom detectron2.config import LazyCall as L\n"
    "AdamW = L(torch.optim.AdamW)(\n    params=L(get_params)(weight_decay_norm=0.0),\n"
    "    lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)\n",
    "configs/common/train.py": "train = dict(max_iter=90000, amp=dict(enabled=False), seed=-1)\n",
    "configs/common/plan.py": "from detectron2.config import LazyCall as L\n"
    "from detectron2.solver import WarmupParamScheduler\n"
    "from fvcore.common.param_scheduler import MultiStepParamScheduler\n"
    "lr_multiplier = L(WarmupParamScheduler)(\n    scheduler=L(MultiStepParamScheduler)("
    "values=[1.0, 0.1], milestones=[9, 10]),\n    warmup_length=0.25, warmup_factor=0.1)\n",
}


def test_lazy_configurations() -> None:
    found = told(LAZY)
    assert found["optimizer.name"] == "adamw"
    assert found["optimizer.learning_rate"] == 2e-4
    assert found["optimizer.betas.1"] == 0.95
    assert found["optimizer.no_decay"] == "yes"
    assert found["schedule.total_steps"] == 1000
    assert found["schedule.name"] == "multistep"
    assert found["schedule.warmup"] == "250 steps"
    assert found["precision.compute_dtype"] == "float16"
    assert found["clipping.value"] == 0.1


def test_a_lazy_call_of_another_kind() -> None:
    text = LAZY["configs/common/optim.py"].replace("AdamW =", "optimizer =")
    other = text.replace("detectron2.config import LazyCall", "mine import Partial")
    assert "optimizer.name" in told({"a.py": text + "train = dict(max_iter=3)\n"})
    assert set(told({"a.py": other + "train = dict(max_iter=3)\n"})) <= {"framework"}


def test_runs_in_a_folder_have_their_bases() -> None:
    groups = [[source.name for source in members] for members in group(sources(MM))]
    assert groups == [[*MM]]
    groups = [[source.name for source in members] for members in group(sources(DETECTRON))]
    assert groups == [[*DETECTRON]]
    names = [members[0].name for members in group(sources(HYDRA))]
    assert names == ["configs/train.yaml"]


def test_a_run_from_which_another_inherits_stays_one() -> None:
    other = {"configs/coco/more.yaml": "_BASE_: mask.yaml\nSOLVER:\n  BASE_LR: 0.5\n"}
    names = [members[0].name for members in group(sources({**other, **DETECTRON}))]
    assert names == ["configs/coco/more.yaml", "configs/coco/mask.yaml"]


def test_a_recipe_of_a_configuration_and_its_bases() -> None:
    analysis = analyse(sources(MM))
    assert analysis.settled[("optimizer.momentum", "")].fact.value == 0.9
