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
        (NUMBER, "schedule = paddle.optimizer.lr.LinearWarmup(schedule, 5, 0, rate)", "pass", False),
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
