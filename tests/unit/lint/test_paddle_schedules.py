"""Schedules of Paddle that no optimizer has (CL811)."""

from __future__ import annotations

import pytest

from .lint_results import codes

MADE = """
import paddle

def main(model, loader, rate, extra):
    {optimizer}
    schedule = paddle.optimizer.lr.StepDecay(learning_rate=rate, step_size=30)
    {after}
    for epoch in range(90):
        fit(model, loader, optimizer)
        schedule.step()
        {shown}
"""
NUMBER = "optimizer = paddle.optimizer.Adam(rate, parameters=model.parameters())"
GIVEN = NUMBER.replace("Adam(rate", "Adam(schedule")


@pytest.mark.parametrize(
    ("optimizer", "after", "shown", "found"),
    [
        (NUMBER, "pass", "pass", True),
        (NUMBER, "schedule.set_state_dict(extra)", "print(schedule.get_lr())", True),
        (NUMBER, "pass", "log.add_scalar('rate', float(schedule.last_lr), epoch)", True),
        (NUMBER, "pass", "paddle.save(schedule.state_dict(), 'schedule')", True),
        ("pass", GIVEN, "pass", False),
        (NUMBER, "optimizer.set_lr_scheduler(schedule)", "pass", False),
        (NUMBER, "optimizer._learning_rate = schedule", "pass", False),
        (NUMBER, "pass", "optimizer.set_lr(schedule.get_lr())", False),
        (NUMBER, "pass", "optimizer.set_lr(float(schedule()))", False),
        (NUMBER, "parts = {'schedule': schedule}", "use(parts)", False),
        (NUMBER, "use(schedule)", "pass", False),
        (
            NUMBER,
            "schedule = paddle.optimizer.lr.LinearWarmup(schedule, 5, 0, 1)",
            "pass",
            False,
        ),
    ],
)
def test_schedules_that_no_optimizer_has(
    optimizer: str, after: str, shown: str, found: bool
) -> None:
    text = MADE.format(optimizer=optimizer, after=after, shown=shown)
    assert ("CL811" in codes(text)) is found


def test_a_schedule_of_a_class_that_others_extend() -> None:
    text = f"""
import paddle

class Trainer(Base):
    def __init__(self, model, rate):
        self.schedule = paddle.optimizer.lr.StepDecay(rate, step_size=30)
        {NUMBER}

    def end(self):
        self.schedule.step()

Trainer(model, 0.1)
"""
    assert "CL811" not in codes(text)
    assert "CL811" in codes(text.replace("(Base)", ""))


CHOSEN = """
import argparse
import paddle

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--decay", action="store_true")
parser.add_argument("--kind", default="adamw")
args = parser.parse_args()

falls = args.decay
schedule = args.rate
if {made}:
    schedule = paddle.optimizer.lr.StepDecay(args.rate, step_size=30)
if args.kind == "adam":
    optimizer = paddle.optimizer.Adam(args.rate, parameters=weights)
elif args.kind == "adamw":
    optimizer = paddle.optimizer.AdamW(args.rate, parameters=weights)
elif args.kind == "sgd":
    optimizer = paddle.optimizer.SGD(schedule, parameters=weights)
for epoch in range(90):
    fit(optimizer)
    if {stepped}:
        schedule.step()
"""


@pytest.mark.parametrize(
    ("made", "stepped", "found"),
    [
        ("args.decay", "epoch", True),
        ("args.decay and args.kind == 'sgd'", "args.decay", True),
        ("args.decay and args.kind == 'sgd'", "args.decay and args.kind != 'adam'", True),
        ("args.decay and args.kind == 'sgd'", "args.kind != 'adam' and args.kind != 'adamw'", True),
        ("args.decay", "args.decay", False),
        ("args.decay and args.kind == 'sgd'", "args.kind == 'sgd' and args.decay", False),
        ("args.kind == 'sgd'", "args.kind not in ('adam', 'adamw')", False),
        ("args.kind in ('sgd', 'adamw')", "args.kind != 'adamw'", True),
        ("args.decay", "falls", False),
        ("args.decay > 0", "args.decay", False),
        ("args.decay", "epoch > args.first", True),
        ("args.decay", "args.decay and epoch", False),
        ("args.kind == 'sgd'", "args.kind != 'adam' and args.kind != 'adamw'", False),
        ("args.decay", "ready(args)", False),
        ("args.decay", "not isinstance(schedule, float)", False),
        ("args.decay", "hasattr(schedule, 'step')", False),
        ("True", "epoch", False),
        ("falls", "args.decay", False),
        ("args.decay", "falls and epoch", False),
        ("ready(args)", "epoch", True),
        ("ready(args)", "args.decay", False),
    ],
)
def test_numbers_that_are_stepped(made: str, stepped: str, found: bool) -> None:
    assert ("CL812" in codes(CHOSEN.format(made=made, stepped=stepped))) is found


def test_a_number_that_a_function_returns() -> None:
    text = """
import paddle

def build(model):
    rate = 0.01
    optimizer = paddle.optimizer.SGD(rate, model.parameters())
    schedule = rate
    return optimizer, schedule

def train(optimizer, schedule):
    for epoch in range(3):
        fit(optimizer)
        schedule.step(epoch)

optimizer, schedule = build(model)
train(optimizer, schedule)
"""
    assert "CL812" in codes(text)
    assert "CL812" not in codes(text.replace("schedule = rate", "schedule = Constant(rate)"))
    assert "CL812" not in codes(text.replace("import paddle", "import ours as paddle"))


FACTOR = """
import paddle

def make(model, args):
    return paddle.optimizer.Adam(parameters=model.parameters(), learning_rate=args.rate)

def adjust(optimizer, epoch, args):
    rates = {{3: 1e-4, 5: args.rate * 0.1}}
    share = 0.5 ** epoch
    rate = args.rate * share
    for parameter in optimizer._parameter_list:
        parameter.optimize_attr["learning_rate"] = {value}
"""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("rate", True),
        ("args.rate", True),
        ("0.5 * args.rate * share", True),
        ("rates[epoch]", True),
        ("share", False),
        ("rate / args.rate", False),
        ("args.factor * share", False),
        ("min(1.0, epoch / args.rate)", False),
    ],
)
def test_rates_in_the_place_of_factors(value: str, found: bool) -> None:
    text = FACTOR.format(value=value)
    assert ("CL813" in codes(text)) is found
    assert "CL813" not in codes(text.replace("learning_rate=args.rate", "learning_rate=1.0"))
    assert "CL813" not in codes(text.replace('["learning_rate"]', '["weight"]'))


EARLY = """
import paddle
from project.rates import Falling

model = paddle.nn.Linear(4, 2)
schedule = Falling(0.1, 1000)
optimizer = paddle.optimizer.Adam(schedule, parameters=model.parameters())
for x, y in loader:
    paddle.nn.functional.mse_loss(model(x), y).backward()
    schedule.step()
    optimizer.step()
    optimizer.clear_grad()
"""
OWN = "class Falling(Base):\n    def step(self):\n        pass\n"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", True),
        ("    schedule.step()\n    optimizer.step()\n", "    optimizer.step()\n", False),
        (
            "    schedule.step()\n    optimizer.step()\n",
            "    optimizer.step()\n    schedule.step()\n",
            False,
        ),
        ("Adam(schedule,", "Adam(0.1,", False),
        ("Adam(schedule,", "Adam(0.1, grad_clip=schedule,", False),
        ("from project.rates import Falling\n", f"from project import Base\n{OWN}", False),
        (
            "from project.rates import Falling\n",
            f"from project import Base\n{OWN.partition('def')[0]}pass\n",
            True,
        ),
        ("    schedule.step()\n    optim", "    schedule.step(x)\n    optim", False),
    ],
)
def test_a_schedule_of_an_unseen_class_is_what_an_optimizer_has_as_its_rate(
    old: str, new: str, found: bool
) -> None:
    assert old in EARLY
    assert ("CL501" in codes(EARLY.replace(old, new) if old else EARLY)) is found
