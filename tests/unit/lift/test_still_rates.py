"""A learning rate whose schedule nothing moves on, or only a flag that is off by default."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.recipe_draft import Filled

TORCH = """\
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--decay", action="store_true")
parser.add_argument("--plain", action="store_true")
args = parser.parse_args()
model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
{made}
for epoch in range(3):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
{moved}
"""
PADDLE = """\
import argparse
import paddle
from paddle import nn

parser = argparse.ArgumentParser()
parser.add_argument("--decay", action="store_true")
parser.add_argument("--plain", action="store_true")
args = parser.parse_args()
model = nn.Linear(4, 2)
{made}
optimizer = paddle.optimizer.AdamW(scheduler, parameters=model.parameters())
for epoch in range(3):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{moved}
"""
MADE = {
    "torch": "scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, 1000)",
    "paddle": "scheduler = paddle.optimizer.lr.PolynomialDecay(1e-3, decay_steps=1000)",
}
TEXTS = {"torch": TORCH, "paddle": PADDLE}
MOVES = "        scheduler.step()"


def schedule_of(framework: str, moved: str, made: str = "") -> dict[str, Filled]:
    text = TEXTS[framework].format(made=made or MADE[framework], moved=moved)
    fields = dict(lift(analyse((Source("train.py", text),))).fields)
    return {path: field for path, field in fields.items() if path.startswith("schedule.")}


@pytest.mark.parametrize("framework", TEXTS)
def test_a_flag_that_is_off_by_default_leaves_the_rate_as_it_is(framework: str) -> None:
    fields = schedule_of(framework, "        if args.decay:\n            scheduler.step()")
    assert fields["schedule.name"].value == "constant"
    assert "not (args.decay)" in fields["schedule.name"].note


@pytest.mark.parametrize("framework", TEXTS)
def test_a_schedule_that_nothing_advances_is_open(framework: str) -> None:
    fields = schedule_of(framework, "        print(scheduler.last_epoch)")
    assert fields["schedule.name"].how == "assumed"
    assert "nothing advances the schedule" in fields["schedule.name"].note


LOOK_ALIKES = {
    "in every update": MOVES,
    "every epoch": "    scheduler.step()",
    "by a flag that is on": "        if not args.plain:\n            scheduler.step()",
    "by one flag or the other": "        if args.decay:\n            scheduler.step()\n"
    "        else:\n            scheduler.step()",
    "by a setting of which nothing is known": "        if cfg.moves:\n            scheduler.step()",
    "by a function of another file": "        advance(scheduler)",
}


@pytest.mark.parametrize("framework", TEXTS)
@pytest.mark.parametrize("moved", LOOK_ALIKES)
def test_other_schedules_are_read(moved: str, framework: str) -> None:
    fields = schedule_of(framework, LOOK_ALIKES[moved])
    assert fields["schedule.name"].value == "linear"


def test_one_of_two_schedules_that_moves_is_read() -> None:
    idle = MADE["torch"].replace("scheduler =", "unused =").replace("1000", "500")
    fields = schedule_of("torch", MOVES, f"{idle}\n{MADE['torch']}")
    assert "nothing advances" not in fields["schedule.name"].note
    assert fields["schedule.name"].value == "linear"


def test_one_of_two_schedules_that_goes_to_another_file_is_read() -> None:
    other = MADE["torch"].replace("scheduler =", "unused =")
    fields = schedule_of("torch", "        advance(scheduler)", f"{other}\n{MADE['torch']}")
    assert "nothing advances" not in fields["schedule.name"].note


def test_a_schedule_that_a_library_gets_is_read() -> None:
    made = (
        f"{MADE['torch']}\nfrom accelerate import Accelerator\naccelerator = Accelerator()\n"
        "model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)"
    )
    assert schedule_of("torch", "", made)["schedule.name"].value == "linear"
