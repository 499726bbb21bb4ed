"""Schedules that nothing advances, and those that somebody may (CL512)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

from .lint_results import codes

PADDLE = """
import paddle

rate = paddle.optimizer.lr.StepDecay(1e-3, step_size=200)
optimizer = paddle.optimizer.Adam(learning_rate=rate, parameters=model.parameters())
for x, y in loader:
    loss = paddle.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
TORCH = """
import torch

class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.rate = torch.optim.lr_scheduler.StepLR(self.optimizer, 30)

    def train(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
{lines}

Trainer(model).train(loader)
"""
READS = (
    "print(rate)",
    "print(rate.get_lr())",
    "log.info(f'{rate} {rate.last_lr}')",
    "paddle.save(rate.state_dict(), 'rate')",
    "kind = args.scheduler",
    "if config.lr_schedule == 'step': pass",
)
ADVANCES = (
    "rate.step()",
    "callback(rate)",
    "callback(on=rate)",
    "other = rate",
    "rates = [rate]",
    "optimizer._learning_rate.step()",
    "schedule_of(optimizer).step()",
    "globals()['rate'].step_now()",
    "rate.last_epoch += 1",
    "rate.last_lr = 0.1",
    "rate.set_state_dict(state)",
    "for each in trainer.schedulers: each.advance()",
    "rate()",
)


@pytest.mark.parametrize("line", READS)
def test_reading_does_not_advance(line: str) -> None:
    assert "CL512" in codes(f"{PADDLE}    {line}\n")


@pytest.mark.parametrize("line", ADVANCES)
def test_may_advance(line: str) -> None:
    assert "CL512" not in codes(f"{PADDLE}    {line}\n")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("", True),
        ("\n    def report(self):\n        return self.rate.get_last_lr()\n", True),
        ("\n    def resume(self, state):\n        self.rate.load_state_dict(state)\n", True),
        ("\n    def resume(self, state):\n        return self.rate.load_state_dict\n", False),
        ("\n    def end(self):\n        self.rate.step()\n", False),
        ("\n    def parts(self):\n        return self.optimizer, self.rate\n", False),
        ("\ndef end(trainer):\n    trainer.rate.step()\n", False),
        ("\ndef end(trainer):\n    getattr(trainer, 'rate').step()\n", False),
    ],
)
def test_schedule_of_an_object(lines: str, found: bool) -> None:
    assert ("CL512" in codes(TORCH.format(lines=lines))) is found


def test_a_class_that_others_may_use() -> None:
    text = TORCH.format(lines="")
    assert "CL512" not in codes(text.replace("class Trainer:", "class Trainer(BaseTrainer):"))
    assert "CL512" not in codes(text.replace("Trainer(model).train(loader)", ""))


def test_one_of_two_schedules() -> None:
    second = "    second.step()\n"
    made = "second = paddle.optimizer.lr.NoamDecay(8, 4)\nrate ="
    assert "CL512" not in codes(PADDLE.replace("rate =", made, 1) + second)


def test_states_that_are_restored() -> None:
    for method in ("set_state_dict", "set_dict"):
        assert "CL512" in codes(PADDLE.replace("optimizer =", f"rate.{method}(state)\noptimizer ="))
        assert "CL512" not in codes(f"{PADDLE}    rate.{method}(state)\n")


def test_libraries_and_other_classes() -> None:
    assert "CL512" not in codes(PADDLE.replace("paddle.optimizer.lr", "ours"))
    assert "CL512" not in codes(PADDLE.replace("    optimizer.step()\n", ""))
    warm = "warm = paddle.optimizer.lr.LinearWarmup(rate, 10, 0.0, 1e-3)\noptimizer ="
    assert "CL512" not in codes(PADDLE.replace("optimizer =", warm, 1) + "    warm.step()\n")


def test_what_optimizers_are_called() -> None:
    named = PADDLE.replace("optimizer.step", "opt_g.step").replace("optimizer.cl", "opt_g.cl")
    for name in ("optG", "stepper", "opt_g"):
        text = named.replace("opt_g", name).replace("optimizer = ", f"{name} = ")
        assert "CL512" in codes(text)
    unknown = named.replace("opt_g", "stepper").replace("optimizer = ", "unknown = ")
    assert "CL512" not in codes(unknown)


def test_a_schedule_of_paddle_that_nobody_uses() -> None:
    number = PADDLE.replace("learning_rate=rate", "learning_rate=1e-3")
    found = lint_sources([Source("train.py", number)])
    assert [each.message for each in found if each.code == "CL512"] == [
        "nothing advances rate, and no optimizer has it: the learning rate is another one, which "
        "does not change"
    ]
    assert "CL512" not in codes(f"{number}    use(rate)\n")
    assert codes(f"{number}    rate.step()\n") == {"CL811"}
