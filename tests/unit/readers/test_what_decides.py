"""Conditions of schedules in one branch."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.analysis import analyse


def facts(text: str, name: str) -> list[Fact]:
    return [f for f in analyse([Source("train.py", text)]).subject.profile if f.field == name]


# ---- schedules


def schedule(text: str) -> Fact:
    return next(fact for fact in facts(text, "schedule.name"))


PADDLE = """
import paddle.fluid as fluid

def optimization(loss, warmup_steps, rate):
    if warmup_steps > 0:
        decayed = fluid.layers.polynomial_decay(rate, 100, 0.0)
        optimizer = fluid.optimizer.Adam(learning_rate=decayed)
    else:
        optimizer = fluid.optimizer.Adam(learning_rate={other})
    optimizer.minimize(loss)
"""


def test_a_schedule_in_one_branch_only_has_its_condition() -> None:
    assert schedule(PADDLE.format(other="rate")).under == ("warmup_steps > 0",)
    both = PADDLE.format(other="fluid.layers.polynomial_decay(rate, 50, 0.0)")
    assert schedule(both).under == ()
