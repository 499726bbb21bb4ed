"""DeepSpeed's configurations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crosscast.messages.diagnostics import Severity
from crosscast.messages.source import Source
from crosscast_reading.readers.config.deepspeed_json import READER
from crosscast_reading.readers.protocol import Reading
from reading_helpers.reader_texts import codes, read, value_of

BASE = {"train_micro_batch_size_per_gpu": 4}


def ds(**config: Any) -> Reading:
    return read(READER, json.dumps({**BASE, **config}, indent=1), "ds.json")


def test_defaults_come_from_the_library() -> None:
    found = ds(fp16={"enabled": True})
    assert value_of(found, "loss_scaling.mode") == "framework_default"
    assert value_of(found, "loss_scaling.init_scale") == 65536.0
    assert value_of(found, "loss_scaling.growth_interval") == 1000
    layers = {f.layer.value for f in found.facts if f.field == "loss_scaling.init_scale"}
    assert layers == {"library"}
    assert value_of(found, "clipping.kind") == "none"


def test_static_scale() -> None:
    found = ds(fp16={"enabled": True, "loss_scale": 128})
    assert value_of(found, "loss_scaling.mode") == "static"
    assert value_of(found, "loss_scaling.scale") == 128


@pytest.mark.parametrize("section", [{"enabled": "auto"}, {"enabled": "auto", "loss_scale": 0}])
def test_auto_is_unknown_with_a_reason(section: dict[str, Any]) -> None:
    found = ds(fp16=section, gradient_accumulation_steps="auto", gradient_clipping="auto")
    assert value_of(found, "precision.enabled") == "config"
    for field in ("precision.compute_dtype", "accumulation.steps", "clipping.value"):
        assert str(value_of(found, field)).startswith("? auto")


def test_bf16_has_no_scale() -> None:
    found = ds(bf16={"enabled": True}, fp16={"enabled": False, "loss_scale": 64})
    assert value_of(found, "precision.compute_dtype") == "bfloat16"
    assert value_of(found, "loss_scaling.mode") == "none"
    assert codes(found) == ["CC927"]


def test_both_at_once_contradict() -> None:
    assert "CC925" in codes(ds(bf16={"enabled": True}, fp16={"enabled": True}))


def test_nothing_about_precision_is_float32() -> None:
    found = ds()
    assert value_of(found, "precision.enabled") == "never"
    assert value_of(found, "precision.compute_dtype") == "float32"


def test_batch_sizes_that_do_not_fit() -> None:
    found = ds(train_batch_size=30, gradient_accumulation_steps=4)
    assert codes(found) == ["CC928"]


@pytest.mark.parametrize(
    ("kind", "family", "decay"),
    [
        ("Adam", "adamw", "weight_decay"),
        ("OneBitAdam", "adam", "weight_decay"),
        ("Lamb", "lamb", "weight_decay"),
        ("SGD", "sgd", "l2"),
    ],
)
def test_families(kind: str, family: str, decay: str) -> None:
    found = ds(optimizer={"type": kind, "params": {"weight_decay": 0.1}})
    assert value_of(found, "optimizer.name") == family
    assert value_of(found, f"optimizer.{decay}") == 0.1


def test_adam_with_coupled_decay() -> None:
    params = {"weight_decay": 0.1, "adam_w_mode": False}
    found = ds(optimizer={"type": "Adam", "params": params})
    assert value_of(found, "optimizer.name") == "adam"
    assert value_of(found, "optimizer.l2") == 0.1


@pytest.mark.parametrize(
    ("kind", "shape", "found"),
    [
        ("WarmupDecayLR", "cosine", ["CC933"]),
        ("WarmupLR", "exp", ["CC933"]),
        ("WarmupDecayLR", "linear", []),
        ("WarmupLR", "log", []),
        ("WarmupCosineLR", "cosine", []),
        ("OneCycle", "cosine", []),
    ],
)
def test_shapes_of_a_warm_up(kind: str, shape: str, found: list[str]) -> None:
    scheduler = {"type": kind, "params": {"warmup_num_steps": 10, "warmup_type": shape}}
    assert codes(ds(scheduler=scheduler)) == found


def test_what_deepspeed_refuses_is_an_error() -> None:
    text = '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1,},}'
    found = read(READER, text, "ds.json")
    assert codes(found) == ["CC922"]
    assert found.diagnostics[0].severity is Severity.ERROR
    assert codes(READER.read(Source("ds.json", "{"))) == ["CC921"]
    assert value_of(found, "parallel.kind") == "deepspeed_zero1"
    assert value_of(ds(zero_optimization=True), "parallel.kind") == "deepspeed_zero1"
    assert value_of(ds(zero_optimization=False), "parallel.kind") == "deepspeed_zero0"


@pytest.mark.parametrize(
    "text",
    [
        '{"train_batch_size": 32, "max_seq_length": 128, "learning_rate": 1e-5}',
        '{"optimizer": {"type": "Adam"}, "epochs": 3}',
        '{"fp16": true, "lr": 0.1}',
        '{"name": "x", "dependencies": {}}',
        "[1, 2]",
        "{",
        "train_batch_size = 3",
    ],
)
def test_other_json_is_nobodys(text: str) -> None:
    assert not READER.sniff(Source("c.json", text))


def test_long_texts_are_not_parsed_to_see_whose_they_are() -> None:
    text = '{"zero_optimization": {"stage": 2}}'
    assert READER.sniff(Source("ds.json", text))
    assert not READER.sniff(Source("ds.json", text + " " * 200_000))
