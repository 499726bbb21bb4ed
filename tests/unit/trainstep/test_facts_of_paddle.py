"""What the reader of training loops says of loops over optimizers, and of settings of Paddle."""

from __future__ import annotations

import pytest

from told_facts import facts, words

MANY = """
import paddle

def train(engine, rows):
    for step, (x, y) in enumerate(rows):
        loss = engine.loss(engine.model(x), y)
        scaled = engine.scaler.scale(loss)
        scaled.backward()
        for i in range(len(engine.optimizer)):
            engine.scaler.step(engine.optimizer[i])
            engine.scaler.update()
        engine.optimizer.clear_grad()
"""


def test_an_update_of_the_scale_for_each_optimizer() -> None:
    assert words(facts(MANY, ""))["scaler_update.status"] == "per_optimizer"


def test_an_update_of_the_scale_after_all_of_them() -> None:
    inner = "            engine.scaler.update()\n"
    assert inner in MANY
    text = MANY.replace(inner, inner[4:])
    assert words(facts(text, ""))["scaler_update.status"] == "ok"
    whole = MANY.replace("        for i in range(len(engine.optimizer)):", "        if True:")
    assert words(facts(whole, ""))["scaler_update.status"] == "ok"


PARSED = """
import paddle
from paddlenlp.trainer import PdArgumentParser
from options import Options

{how}
optimizer = paddle.optimizer.AdamW(1e-4, parameters=model.parameters())
for step, rows in enumerate(loader):
    loss = model(rows) / training_args.merge
    loss.backward()
    if (step + 1) % training_args.merge == 0:
        optimizer.step()
        optimizer.clear_grad()
"""
WAYS = [
    ("training_args, = PdArgumentParser((Options,)).parse_args_into_dataclasses()", "flag"),
    ("training_args = Options()", "config"),
]


@pytest.mark.parametrize(("how", "expected"), WAYS)
def test_who_gives_the_window(how: str, expected: str) -> None:
    steps = facts(PARSED.format(how=how), "").best("accumulation.steps")
    assert steps is not None
    assert steps.origin == expected


def test_a_setting_with_a_default_gives_the_window() -> None:
    text = PARSED.format(how='merge = getattr(cfg.train, "merge", 1)')
    steps = facts(text.replace("training_args.merge", "merge"), "").best("accumulation.steps")
    assert steps is not None
    assert steps.origin == "config"


TURNS = """
import paddle

for epoch in range(9):
    for step, rows in enumerate(loader):
        if step == 0:
            optimizer.clear_grad()
        loss = model(rows) / 4
        loss.backward()
        if (step + 1) % 4 == 0:
            optimizer.step()
            optimizer.clear_grad()
        if config.each:
            schedule.step()
    if not config.each:
        schedule.step()
"""


def test_a_schedule_that_a_setting_moves_by_step_or_epoch() -> None:
    found = words(facts(TURNS, ""))
    assert found["schedule.stepped_per"] == "selectable"
    assert found["zero_grad.where"] == "after_step"


def test_a_schedule_that_moves_by_both() -> None:
    both = TURNS.replace("    if not config.each:\n", "    if config.more:\n")
    assert words(facts(both, ""))["schedule.stepped_per"] == "micro"


def test_gradients_that_are_cleared_once_only() -> None:
    once = TURNS.replace(
        "            optimizer.step()\n            optimizer.clear_grad()\n",
        "            optimizer.step()\n",
    )
    assert words(facts(once, ""))["zero_grad.where"] == "before_forward"


BEHIND = """
import paddle

for rows in loader:
    model(rows).backward()
    optimizer.step()
    optimizer.{name}.step()
    optimizer.clear_grad()
"""


def test_a_schedule_that_is_reached_through_its_optimizer() -> None:
    found = words(facts(BEHIND.format(name="_learning_rate"), ""))
    assert found["schedule.stepped_per"] == "step"
    assert "schedule.stepped_per" not in words(facts(BEHIND.format(name="_accumulators"), ""))
