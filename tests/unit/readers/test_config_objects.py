"""Configurations that make objects: detectron2, Hydra, latent diffusion, fairseq, LazyConfig."""

from __future__ import annotations

import pytest

from crosscast_reading.sources.grouping import group
from reading_helpers.inherited_files import sources, told

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
    assert "activation_checkpointing" not in found
    unet = "    unet_config: {target: ldm.UNetModel, params: {use_checkpoint: SWITCH}}\n"
    for switch, word in (("True", "yes"), ("False", "none")):
        text = DIFFUSION.replace("data:\n", f"{unet.replace('SWITCH', switch)}data:\n", 1)
        assert told({"a.yaml": text})["activation_checkpointing"] == word
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
    other = told({"a.yaml": FAIRSEQ.replace("optimization:", "other:")})
    assert other["clipping.value"] == 1.5  # by its name alone
    assert not {"framework", "api", "accumulation.loss_divided"} & other.keys()


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


def test_lazy_configurations_beside_the_library() -> None:
    library = {
        "detectron2/config/__init__.py": "from .lazy import LazyCall\n",
        "detectron2/config/lazy.py": "class LazyCall:\n    def __init__(self, target):\n"
        "        self.target = target\n",
    }
    assert told({**LAZY, **library})["optimizer.learning_rate"] == 2e-4
    del library["detectron2/config/lazy.py"]
    assert told({**LAZY, **library})["optimizer.learning_rate"] == 2e-4


def test_a_lazy_call_of_another_kind() -> None:
    text = LAZY["configs/common/optim.py"].replace("AdamW =", "optimizer =")
    other = text.replace("detectron2.config import LazyCall", "mine import Partial")
    assert "optimizer.name" in told({"a.py": text + "train = dict(max_iter=3)\n"})
    assert set(told({"a.py": other + "train = dict(max_iter=3)\n"})) <= {"framework"}


def test_runs_in_a_folder_have_their_bases() -> None:
    groups = [[source.name for source in members] for members in group(sources(DETECTRON))]
    assert groups == [[*DETECTRON]]
    names = [members[0].name for members in group(sources(HYDRA))]
    assert names == ["configs/train.yaml"]


def test_a_run_from_which_another_inherits_stays_one() -> None:
    other = {"configs/coco/more.yaml": "_BASE_: mask.yaml\nSOLVER:\n  BASE_LR: 0.5\n"}
    names = [members[0].name for members in group(sources({**other, **DETECTRON}))]
    assert names == ["configs/coco/more.yaml", "configs/coco/mask.yaml"]
