"""Bounds that a program sets to the loss scale of a scaler, and other values that it sets."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_paddle.reading.amp import READER as PADDLE
from crosscast_tensorflow.reading.keras import READER as KERAS
from crosscast_torch.reading.amp import READER as TORCH
from torch_programs import facts_of, read_by

TORCH_LOOP = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--least", type=float, default=0.5)
args = parser.parse_args()
scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
PADDLE_LOOP = """
import paddle
scaler = paddle.amp.GradScaler()
scaler.set_init_loss_scaling(1024.0)
for x, y in loader:
    with paddle.amp.auto_cast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
KERAS_LOOP = """
import keras
import tensorflow as tf
keras.mixed_precision.set_global_policy("mixed_float16")
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = optimizer.scale_loss(criterion(y, model(x)))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
"""
LOWEST, HIGHEST = "loss_scaling.min_scale", "loss_scaling.max_scale"


def bounds(reader: Any, loop: str, *lines: str) -> dict[str, Any]:
    """Return the bounds that are told if the loop ends with these lines."""
    found = read_by(reader, loop + "".join(f"    {line}\n" for line in lines))
    return {name: value for name, value in found.items() if name in (LOWEST, HIGHEST)}


@pytest.mark.parametrize(
    "lines",
    [
        ("if scaler.get_scale() < 4.0:", "    scaler.update(4.0)"),
        ("if scaler.get_scale() <= 2.0**2:", "    scaler.update(new_scale=4.0)"),
        ("now = scaler.get_scale()", "if now < 4.0:", "    scaler.update(4.0)"),
        ("scaler.update(max(scaler.get_scale(), 4.0))",),
        ("scaler.update(max(4.0, scaler.get_scale()))",),
        ("now = max(scaler.get_scale(), 4.0)", "scaler.update(now)"),
        ("scaler._scale.clamp_(min=4.0)",),
        ("scaler._scale.clamp_min_(4.0)",),
        ("scaler._scale.clamp_(4.0, None)",),
        ("scaler._scale = torch.clamp(scaler._scale, min=4.0)",),
        ("scaler._scale = scaler._scale.clamp(min=4.0)",),
    ],
)
def test_a_lowest_scale_of_its_own(lines: tuple[str, ...]) -> None:
    assert bounds(TORCH, TORCH_LOOP, *lines) == {LOWEST: 4.0}


@pytest.mark.parametrize(
    ("lines", "sure"),
    [
        (("scaler._scale.clamp_(min=4.0)",), "certain"),
        (("if scaler.get_scale() < 4.0:", "    scaler.update(4.0)"), "certain"),
        (("if step % 100 == 0:", "    scaler._scale.clamp_(min=4.0)"), "likely"),
        (
            (
                "if step % 100 == 0:",
                "    if scaler.get_scale() < 4.0:",
                "        scaler.update(4.0)",
            ),
            "likely",
        ),
    ],
)
def test_a_bound_under_other_conditions_is_not_certain(lines: tuple[str, ...], sure: str) -> None:
    facts = facts_of(TORCH, TORCH_LOOP + "".join(f"    {line}\n" for line in lines))
    (found,) = [fact for fact in facts if fact.field == LOWEST]
    assert (found.value, found.confidence) == (4.0, sure)


def test_a_flag_gives_the_lowest_scale() -> None:
    assert bounds(TORCH, TORCH_LOOP, "scaler.update(max(scaler.get_scale(), args.least))") == {
        LOWEST: 0.5
    }


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (("scaler.update(min(scaler.get_scale(), 8.0))",), {HIGHEST: 8.0}),
        (("if scaler.get_scale() > 8.0:", "    scaler.update(8.0)"), {HIGHEST: 8.0}),
        (("scaler._scale.clamp_(2.0, 8.0)",), {LOWEST: 2.0, HIGHEST: 8.0}),
        (("scaler.update(max(min(scaler.get_scale(), 8.0), 2.0))",), {LOWEST: 2.0, HIGHEST: 8.0}),
    ],
)
def test_a_highest_scale_of_its_own(lines: tuple[str, ...], found: dict[str, float]) -> None:
    assert bounds(TORCH, TORCH_LOOP, *lines) == found


@pytest.mark.parametrize(
    "lines",
    [
        ("scaler.update(new_scale)",),
        ("scaler.update(now.best())",),
        ("if scaler.get_scale() < 1.0:", "    scaler.update(4.0)"),
        ("if bad > 4.0:", "    scaler.update(4.0)"),
        ("if scaler.get_scale() < 4.0:", "    pass", "else:", "    scaler.update(4.0)"),
        ("now = max(now, 4.0)", "scaler.update(now)"),
        ("scaler._scale = torch.full((1,), 4.0)",),
        ("scaler._scale.mul_(4.0)",),
    ],
)
def test_any_other_scale_of_its_own_makes_the_lowest_unknown(lines: tuple[str, ...]) -> None:
    assert bounds(TORCH, TORCH_LOOP, *lines) == {LOWEST: "?"}


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("ema.update(model)",),
        ("meter.update(loss.item())",),
        ("if scaler.get_scale() < 1.0:", "    raise RuntimeError('it diverges')"),
        ("model.quantizer._scale = 4.0",),
        ("scales.update({'now': scaler.get_scale()})",),
        ("if False:", "    scaler.update(4.0)"),
    ],
)
def test_what_sets_no_scale(lines: tuple[str, ...]) -> None:
    assert bounds(TORCH, TORCH_LOOP, *lines) == {}


def test_a_class_of_its_own() -> None:
    text = """
        import torch

        class Floored(torch.amp.GradScaler):
            def update(self, new_scale=None):
                super().update(new_scale)
                self._scale.clamp_(min=4.0)

        class Quantizer(torch.nn.Module):
            def forward(self, x):
                self._scale = 3.0
                return x * self._scale

        scaler = Floored("cuda")
        for x, y in loader:
            loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    """
    assert read_by(TORCH, text)[LOWEST] == 4.0


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ((), {}),
        (("scaler.set_init_loss_scaling(max(scaler.get_init_loss_scaling(), 4.0))",), {LOWEST: 4}),
        (("scaler._scale = paddle.clip(scaler._scale, 4.0)",), {LOWEST: 4}),
        (("scaler.set_init_loss_scaling(schedule(step))",), {LOWEST: "?"}),
    ],
)
def test_scalers_of_paddle(lines: tuple[str, ...], found: dict[str, Any]) -> None:
    assert bounds(PADDLE, PADDLE_LOOP, *lines) == found


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ((), {}),
        (
            ("optimizer.dynamic_scale.assign(keras.ops.maximum(optimizer.dynamic_scale, 4.0))",),
            {LOWEST: 4},
        ),
        (("optimizer.dynamic_scale.assign(schedule(step))",), {LOWEST: "?"}),
        (("best.assign(loss)",), {}),
    ],
)
def test_scalers_of_keras(lines: tuple[str, ...], found: dict[str, Any]) -> None:
    assert bounds(KERAS, KERAS_LOOP, *lines) == found
