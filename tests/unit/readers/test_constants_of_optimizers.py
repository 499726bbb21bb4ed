"""Constants of optimizers that stand in configurations and flags: none of them may vanish."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_paddle.reading import paddle_yaml
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.config import (
    composer_yaml,
    lightning_yaml,
    nemo_yaml,
    torchtune_yaml,
)
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.python import config_dicts, mmengine
from crosscast_tensorflow.reading import model_garden_yaml
from reading_helpers.reader_texts import read, shell, value_of

from .yaml_cases import TEXTS

MOMENTUM = {"optimizer.momentum": 0.8}
NESTEROV = {"optimizer.momentum": 0.8, "optimizer.nesterov": "yes"}
SGD = "momentum: 0.8, nesterov: true"


@pytest.mark.parametrize(
    ("reader", "text", "old", "new", "expected"),
    [
        (
            nemo_yaml.READER,
            TEXTS["nemo"],
            "name: fused_adam",
            "name: sgd\n    momentum: 0.8",
            MOMENTUM,
        ),
        (
            nemo_yaml.READER,
            TEXTS["nemo"],
            "name: fused_adam",
            "name: sgd\n    momentum: 0.8\n    nesterov: true",
            NESTEROV,
        ),
        (
            composer_yaml.READER,
            TEXTS["composer"],
            "name: decoupled_adamw",
            "name: decoupled_sgdw\n  momentum: 0.8\n  nesterov: true",
            NESTEROV,
        ),
        (
            torchtune_yaml.READER,
            TEXTS["torchtune"],
            "torch.optim.AdamW",
            "torch.optim.SGD\n  momentum: 0.8\n  nesterov: true",
            NESTEROV,
        ),
        (lightning_yaml.READER, TEXTS["lightning"], "momentum: 0.9", SGD, NESTEROV),
        (model_garden_yaml.READER, TEXTS["garden"], "momentum: 0.9", SGD, NESTEROV),
        (
            paddle_yaml.READER,
            TEXTS["detection"],
            "momentum: 0.9",
            "momentum: 0.8, use_nesterov: true",
            NESTEROV,
        ),
    ],
)
def test_of_configurations(
    reader: YamlFormat, text: str, old: str, new: str, expected: dict[str, Any]
) -> None:
    assert old in text
    found = read(reader, text.replace(old, new), "c.yaml")
    assert {field: value_of(found, field) for field in expected} == expected


ENGINE = """optim_wrapper = dict(type='OptimWrapper', optimizer=dict(
    type='SGD', lr=0.1, momentum=0.8, nesterov=True))
param_scheduler = dict(type='MultiStepLR', milestones=[8])
"""
SEQ2SEQ = """from open_seq2seq.models import Some
base_params = {"optimizer": "Momentum", "lr_policy_params": {"learning_rate": 0.05},
    "optimizer_params": {"momentum": 0.8, "use_nesterov": True}}
"""


@pytest.mark.parametrize(
    ("reader", "text"), [(mmengine.READER, ENGINE), (config_dicts.READER, SEQ2SEQ)]
)
def test_of_python_configurations(reader: Any, text: str) -> None:
    program, _ = read_program([Source("conf.py", text)])
    found = {fact.field: fact.value for fact in reader.read(program)}
    assert {field: found.get(field) for field in NESTEROV} == NESTEROV


MEGATRON = (
    "python t.py --num-layers 2 --num-attention-heads 2 --max-position-embeddings 128 "
    "--micro-batch-size 4 --optimizer sgd"
)
FAIRSEQ = "fairseq-train d --arch a --task t --criterion c --max-tokens 100"
LOOP = "torchrun t.py --train_batch_size 8 --max_steps 9 --warmup_steps 2 --weight_decay 0.1"
ACCELERATE = "accelerate launch --mixed_precision fp16 t.py"
ADAM = {"optimizer.betas.0": 0.8, "optimizer.betas.1": 0.98, "optimizer.eps": 1e-6}
_FLAGS = "--adam_beta1 0.8 --adam_beta2 0.98 --adam_epsilon 1e-6"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"{MEGATRON} --sgd-momentum 0.8", MOMENTUM),
        (f"{FAIRSEQ} --optimizer nag --momentum 0.8", MOMENTUM),
        (f"{FAIRSEQ} --optimizer adam --adam-betas '(0.8, 0.98)' --adam-eps 1e-6", ADAM),
        (f"{FAIRSEQ} --optimizer adam --adam-betas '(0.8,0.98)' --adam-eps 1e-6", ADAM),
        (f"{LOOP} --momentum 0.8", MOMENTUM),
        (f"{LOOP} {_FLAGS}", ADAM),
        (f"{ACCELERATE} {_FLAGS}", ADAM),
    ],
)
def test_of_flags(command: str, expected: dict[str, Any]) -> None:
    found = shell(command)
    assert {field: value_of(found, field) for field in expected} == expected


def test_both_decays_of_a_variable_are_not_known() -> None:
    found = shell(f"{FAIRSEQ} --optimizer adam --adam-betas $BETAS")
    assert str(value_of(found, "optimizer.betas.0")).startswith("?")
    assert str(value_of(found, "optimizer.betas.1")).startswith("?")
