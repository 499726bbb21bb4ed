"""Configurations of PaddleVideo."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_paddle.reading.paddle_yaml import READER
from reader_texts import read, value_of, values_of

VIDEO = """\
MODEL:
  framework: "Recognizer2D"
  head: {name: Head, num_classes: 5}
DATASET:
  batch_size: 8
PIPELINE:
  train: {decode: {name: Decoder}}
OPTIMIZER:
  name: 'Momentum'
  momentum: 0.9
  learning_rate:
    name: 'PiecewiseDecay'
    boundaries: [10, 20]
    values: [0.01, 0.001, 0.0001]
  weight_decay: {name: 'L2', value: 0.0002}
  grad_clip: {name: 'global', value: 2.0}
GRADIENT_ACCUMULATION:
  global_batch_size: 64
epochs: 30
"""
COSINE = """\
  learning_rate:
    iter_step: True
    name: 'CosineAnnealingDecay'
    learning_rate: 0.02
    warmup_epochs: 3
"""


def rated(rate: str) -> str:
    start, end = VIDEO.index("  learning_rate:"), VIDEO.index("  weight_decay:")
    return VIDEO[:start] + rate + VIDEO[end:]


def test_a_configuration() -> None:
    found = read(READER, VIDEO, "c.yaml")
    told = {
        "framework": "paddle",
        "optimizer.name": "sgd",
        "optimizer.momentum": 0.9,
        "optimizer.l2": 0.0002,
        "clipping.kind": "global_norm",
        "clipping.value": 2.0,
        "schedule.name": "multistep",
        "schedule.stepped_per": "epoch",
        "accumulation.present": "yes",
        "accumulation.loss_divided": "yes",
        "batch.micro_batch_size": 8,
        "run.epochs": 30,
    }
    assert {name: value_of(found, name) for name in told} == told


def test_a_schedule_per_step() -> None:
    found = read(READER, rated(COSINE), "c.yaml")
    assert value_of(found, "schedule.name") == "cosine"
    assert value_of(found, "schedule.stepped_per") == "step"
    assert value_of(found, "schedule.warmup") == "3 epochs"
    assert value_of(found, "optimizer.learning_rate") == 0.02


def test_other_settings() -> None:
    plain = rated("  learning_rate: 0.3\n").replace("'Momentum'", "AdamW")
    found = read(READER, plain.replace("{name: 'L2', value: 0.0002}", "0.05"), "c.yaml")
    assert value_of(found, "optimizer.learning_rate") == 0.3
    assert value_of(found, "optimizer.weight_decay") == 0.05
    assert values_of(found, "schedule.name") == set()
    other = read(READER, VIDEO.replace("'L2'", "'L1'").replace("'global'", "'x'"), "c.yaml")
    assert value_of(other, "optimizer.l2") == "? not a decay of the squares"
    assert value_of(other, "clipping.kind") == "? a limit called 'x'"


@pytest.mark.parametrize(("old", "new"), [("framework:", "kind:"), ("PIPELINE:", "LOADER:")])
def test_sections_of_others(old: str, new: str) -> None:
    assert READER.sniff(Source("c.yaml", VIDEO))
    assert not READER.sniff(Source("c.yaml", VIDEO.replace(old, new)))
