"""Configurations that inherit from others by `_base_` and `_BASE_`."""

from __future__ import annotations

from crosscast_reading.lift.analysis import analyse
from crosscast_reading.sources.grouping import group
from reading_helpers.inherited_files import places, sources

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


def test_every_value_has_the_place_where_it_stands() -> None:
    assert places(MM, "optimizer.learning_rate") == {"configs/net/net.py"}
    assert places(MM, "optimizer.momentum") == {"configs/_base_/schedules/one.py"}


def test_a_run_with_its_bases() -> None:
    groups = [[source.name for source in members] for members in group(sources(MM))]
    assert groups == [[*MM]]


def test_a_recipe_of_a_configuration_and_its_bases() -> None:
    analysis = analyse(sources(MM))
    assert analysis.settled[("optimizer.momentum", "")].fact.value == 0.9
