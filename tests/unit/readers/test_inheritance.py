"""Configurations that inherit from others by `_base_` and `_BASE_`."""

from __future__ import annotations

from crosscast_reading.lift.analysis import analyse
from crosscast_reading.sources.grouping import group
from inherited_files import places, sources, told

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


def test_a_run_with_its_bases() -> None:
    groups = [[source.name for source in members] for members in group(sources(MM))]
    assert groups == [[*MM]]


def test_a_recipe_of_a_configuration_and_its_bases() -> None:
    analysis = analyse(sources(MM))
    assert analysis.settled[("optimizer.momentum", "")].fact.value == 0.9
