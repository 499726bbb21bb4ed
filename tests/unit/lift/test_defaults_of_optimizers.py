"""Settings of an optimizer of which a source says only a part."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.annotated_yaml import comment
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.recipe_draft import Filled
from reading_helpers.torch_loops import lifted

KERAS = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile(tf.keras.optimizers.{call}, "mse")
model.fit(data, epochs=3)
"""
PADDLE = """\
import paddle
model = paddle.nn.Linear(128, 4)
optimizer = paddle.optimizer.{call}
for inputs, labels in batches():
    loss = paddle.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def betas(text: str) -> Filled:
    return lift(analyse([Source("train.py", text)])).fields["optimizer.betas"]


@pytest.mark.parametrize(
    ("text", "call", "value", "words"),
    [
        (KERAS, "Adam(1e-4, beta_2=0.98)", [0.9, 0.98], "train.py:3 (beta1: default of keras"),
        (KERAS, "AdamW(1e-4, beta_1=0.8)", [0.8, 0.999], "train.py:3 (beta2: default of keras"),
        (PADDLE, "Adam(0.05, beta1=0.8)", [0.8, 0.999], "train.py:3 (beta2: default of paddle"),
        (PADDLE, "Lamb(0.05, beta2=0.95)", [0.9, 0.95], "train.py:3 (beta1: default of paddle"),
    ],
)
def test_the_other_beta_is_the_default(
    text: str, call: str, value: list[float], words: str
) -> None:
    found = betas(text.format(call=call))
    assert (found.value, found.how) == (value, "read")
    assert comment(found).startswith(words)


@pytest.mark.parametrize(
    ("given", "value"),
    [("beta1=0.8, beta2=B2", [0.8, 0.999]), ("beta1=B1, beta2=0.95", [0.9, 0.95])],
)
def test_a_beta_that_cannot_be_known_is_left_to_fill_in(given: str, value: list[float]) -> None:
    found = betas(PADDLE.format(call=f"Adam(0.05, {given})"))
    assert (found.value, found.how) == (value, "assumed")


def test_one_that_cannot_be_known_has_no_default_beside_it() -> None:
    found = betas(PADDLE.format(call="Adam(0.05, beta2=B2)"))
    assert (found.value, found.how) == ([0.9, 0.999], "assumed")


def test_both_and_none() -> None:
    both = betas(PADDLE.format(call="Adam(0.05, beta1=0.7, beta2=0.8)"))
    assert (both.value, both.how, comment(both)) == ([0.7, 0.8], "read", "train.py:3")
    none = betas(PADDLE.format(call="Adam(0.05)"))
    assert (none.value, none.how) == ([0.9, 0.999], "default")


APEX = """\
import torch
from apex.optimizers import FusedLAMB
model = torch.nn.Linear(128, 4)
optimizer = {made}
for inputs, labels in batches():
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    {clip}
    optimizer.step()
    optimizer.zero_grad()
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


@pytest.mark.parametrize(
    ("made", "clip", "value"),
    [
        ("FusedLAMB(model.parameters(), lr=1e-3)", "pass", 0.0),
        ("FusedLAMB(model.parameters(), lr=1e-3, max_grad_norm=0.5)", "pass", 0.0),
        ("torch.optim.AdamW(model.parameters(), lr=1e-3)", CLIP, 1e-6),
        ("FusedLAMB(model.parameters(), lr=1e-3)", CLIP, 1e-6),  # the smaller bound is the loop's
    ],
)
def test_what_a_clip_adds_to_the_norm_is_that_of_who_clips(
    made: str, clip: str, value: float
) -> None:
    text = APEX.format(made=made, clip=clip)
    found = lift(analyse([Source("train.py", text)])).fields["clipping.eps"]
    assert (found.value, found.how) == (value, "default")


@pytest.mark.parametrize(
    ("made", "values"),
    [
        ("apex.optimizers.FusedAdam", {"weight_decay": 0.0, "eps": 1e-8, "learning_rate": 1e-3}),
        ("apex.optimizers.FusedLAMB", {"weight_decay": 0.01, "eps": 1e-6, "learning_rate": 1e-3}),
        ("apex.optimizers.FusedSGD", {"weight_decay": 0.0, "momentum": 0.0}),
        ("deepspeed.ops.adam.FusedAdam", {"weight_decay": 0.0, "eps": 1e-8}),
        ("deepspeed.ops.adam.DeepSpeedCPUAdam", {"weight_decay": 0.0, "eps": 1e-8}),
        ("bitsandbytes.optim.AdamW8bit", {"weight_decay": 0.01, "eps": 1e-8}),
    ],
)
def test_defaults_of_fused_optimizers_are_known(made: str, values: dict[str, float]) -> None:
    package = made.partition(".")[0]
    rate = ", lr=0.1" if made.endswith("SGD") else ""
    found = lifted(imports=f"import {package}", optimizer=f"{made}(model.parameters(){rate})")
    for name, value in values.items():
        filled = found.fields[f"optimizer.{name}"]
        assert (filled.value, filled.how) == (value, "default"), name
        assert package in filled.note


def test_a_class_of_the_same_name_has_no_defaults_of_a_library() -> None:
    found = lifted(imports="import mine", optimizer="mine.FusedAdam(model.parameters())")
    assert found.fields["optimizer.weight_decay"].how == "assumed"
