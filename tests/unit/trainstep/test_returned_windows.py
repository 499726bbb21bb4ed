"""Schedules that ask a function of the program whether it stepped: `if helper.backward(loss):`."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lint.engine import lint_sources

PROGRAM = """\
import torch
from torch import nn


class Helper:
    def __init__(self, optimizer, every):
        self.optimizer, self.every, self.seen = optimizer, every, 0

    def backward(self, loss):
        (loss / self.every).backward()
        self.seen += 1
        if self.seen % self.every == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
            return True
        return False


model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 16)
helper = Helper(optimizer, 4)
for inputs, labels in loader:
    loss = nn.functional.cross_entropy(model(inputs), labels)
    if helper.backward(loss):
        schedule.step()
"""
ASK = "    if helper.backward(loss):\n        schedule.step()\n"
END = "            return True\n        return False\n"
BODY = PROGRAM[PROGRAM.index("        if self.seen") : PROGRAM.index("\n\nmodel")]
PER_UPDATE = {
    "as it is": (),
    "by a name": (
        (
            ASK,
            f"    done = helper.backward(loss)\n{ASK}".replace(
                "if helper.backward(loss)", "if done"
            ),
        ),
    ),
    "continue": (
        (ASK, "    if not helper.backward(loss):\n        continue\n    schedule.step()\n"),
    ),
    "nothing otherwise": ((END, "            return True\n"),),
    "the test itself": ((END, "        return self.seen % self.every == 0\n"),),
    "a variable": (
        ("        self.seen += 1\n", "        self.seen += 1\n        stepped = False\n"),
        (END, "            stepped = True\n        return stepped\n"),
    ),
    "returned before": (
        (
            BODY,
            "        if self.seen % self.every != 0:\n            return False\n"
            "        self.optimizer.step()\n        self.optimizer.zero_grad()\n"
            "        return True\n",
        ),
    ),
    "through another function": (
        ("helper.backward(loss)", "learn(loss)"),
        ("for inputs", "def learn(loss):\n    return helper.backward(loss)\n\n\nfor inputs"),
    ),
}
UNCLEAR = {
    "something else": ((END, "            return ok(loss)\n        return False\n"),),
    "true in all rounds": ((END, "        return True\n"),),
}
PER_MICRO = {
    "the other way round": ((END, END.replace("True", "0").replace("False", "1")),),
    "without a condition": ((ASK, "    helper.backward(loss)\n    schedule.step()\n"),),
    "another condition": (
        (ASK, "    helper.backward(loss)\n    if args.schedule:\n        schedule.step()\n"),
    ),
}


def stepped_per(*pairs: tuple[str, str]) -> list[object]:
    """Return what is read of the unit of the schedule."""
    text = PROGRAM
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    sources = [Source("train.py", text)]
    assert not [found for found in lint_sources(sources) if not found.is_finding]
    profile = analyse(sources).subject.profile
    return [fact.value for fact in profile if fact.field == "schedule.stepped_per"]


@pytest.mark.parametrize("name", PER_UPDATE)
def test_schedules_that_ask_whether_it_stepped(name: str) -> None:
    assert stepped_per(*PER_UPDATE[name]) == ["step"]


@pytest.mark.parametrize("name", UNCLEAR)
def test_answers_that_say_something_else(name: str) -> None:
    """It is not known how often such a schedule moves on."""
    assert stepped_per(*UNCLEAR[name]) == [None]


@pytest.mark.parametrize("name", PER_MICRO)
def test_schedules_that_do_not_ask(name: str) -> None:
    assert stepped_per(*PER_MICRO[name]) == ["micro"]
