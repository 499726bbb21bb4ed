"""Settings that another place decides, and forms in which loops hide what they do."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_reading.readers.python.accumulation import READER as LOOPS
from crosscast_torch.reading.amp import READER as AMP
from crosscast_trainers.reading.accelerate import READER as ACCELERATE
from crosscast_trainers.reading.lightning import READER as LIGHTNING
from torch_programs import facts_of, read_by

LOOP = """\
import torch
from dataclasses import dataclass

@dataclass
class Settings:
    limit: float = None
    optional: "float | None" = None

class Trainer:
    def __init__(self, settings: Settings, model, optimizer, loader):
        self.settings, self.model, self.optimizer = settings, model, optimizer
        self.loader = loader
    def run(self, train=True):
        for x, y in self.loader:
            with torch.set_grad_enabled(train):
                _, loss = self.model(x, y)
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.limit)
            self.optimizer.step()
"""


def test_a_forward_pass_that_may_learn() -> None:
    assert read_by(LOOPS, LOOP)["zero_grad.where"] == "before_backward"
    never = LOOP.replace("set_grad_enabled(train)", "set_grad_enabled(False)")
    assert read_by(LOOPS, never)["zero_grad.where"] == "before_forward"


def test_fields_without_a_value() -> None:
    text = LOOP.replace("settings: Settings, model", "model").replace(
        "= settings, model", "= Settings(), model"
    )
    (limit,) = {f for f in facts_of(LOOPS, text) if f.field == "clipping.value"}
    assert not limit.known
    assert limit.origin == "config"


def accumulating(before: str, test: str = "(step + 1) % steps == 0", more: str = "") -> str:
    return (
        f"import torch\n{before}"
        "for epoch in range(3):\n"
        "    optimizer.zero_grad()\n"
        "    for step, (x, y) in enumerate(loader):\n"
        f"{more}"
        "        loss = torch.nn.functional.cross_entropy(model(x), y)\n"
        "        loss.backward()\n"
        f"        if {test}:\n"
        "            optimizer.step()\n"
        "            optimizer.zero_grad()\n"
    )


@pytest.mark.parametrize(
    ("more", "tail"),
    [
        ("        done = step // steps\n        if done >= updates:\n            continue\n",
         "not_consumed"),
        ("        done = step // steps\n        if done >= updates:\n            break\n",
         "not_consumed"),
        ("        done = step // other\n        if done >= updates:\n            continue\n",
         "dropped"),
        ("        if x is None:\n            continue\n", "dropped"),
    ],
)  # fmt: skip
def test_batches_after_the_last_window(more: str, tail: str) -> None:
    assert read_by(LOOPS, accumulating("", more=more))["accumulation.tail"] == tail


RATE = "        for group in optimizer.param_groups:\n            group['lr'] = rate(step)\n"


def test_a_rate_that_is_set_for_every_micro_batch() -> None:
    text = accumulating("", more=RATE)
    assert read_by(LOOPS, text)["schedule.stepped_per"] == "micro"
    guarded = "        if step % steps == 0:\n" + RATE.replace(
        "        for", "            for"
    ).replace("            group[", "                group[")
    assert read_by(LOOPS, accumulating("", more=guarded))["schedule.stepped_per"] == "step"
    plain = text.replace("        if (step + 1) % steps == 0:\n", "        if True:\n")
    assert read_by(LOOPS, plain)["schedule.stepped_per"] == "step"


def accelerated(given: str) -> str:
    return (
        "from accelerate import Accelerator\n"
        f"accelerator = Accelerator({given})\n"
        "for step, (x, y) in enumerate(loader):\n"
        "    loss = model(x, y)\n"
        "    accelerator.backward(loss)\n"
        "    if (step + 1) % accelerator.gradient_accumulation_steps == 0:\n"
        "        optimizer.step()\n"
        "        optimizer.zero_grad()\n"
    )


@pytest.mark.parametrize(
    ("given", "divided"),
    [
        ("gradient_accumulation_steps=config.steps", "library"),
        ("gradient_accumulation_steps=8", "library"),
        ("gradient_accumulation_steps=1", "no"),
        ("", "no"),
    ],
)
def test_losses_that_accelerate_divides(given: str, divided: str) -> None:
    assert read_by(LOOPS, accelerated(given))["accumulation.loss_divided"] == divided


def test_steps_that_accelerate_was_given() -> None:
    text = accelerated("gradient_accumulation_steps=config.training.steps")
    (steps,) = {f for f in facts_of(LOOPS, text) if f.field == "accumulation.steps"}
    assert (steps.known, steps.origin) == (False, "config")
    assert "config.training.steps" in steps.expression
    assert read_by(LOOPS, accelerated("gradient_accumulation_steps=8"))["accumulation.steps"] == 8


def test_a_precision_that_a_configuration_names() -> None:
    found = read_by(ACCELERATE, accelerated("mixed_precision=config.training.mixed_precision"))
    assert set(found["precision.dtypes"]) == {"float16", "bfloat16"}
    found = read_by(ACCELERATE, accelerated("mixed_precision='bf16'"))
    assert found["precision.dtypes"] == ("bfloat16",)


TRAINER = "import lightning as L\ntrainer = L.Trainer({})\ntrainer.fit(module)\n"


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("strategy='ddp'", {"ddp"}),
        ("accelerator='ddp'", {"ddp"}),
        ("strategy='fsdp'", {"fsdp"}),
        ("strategy='auto'", {"library"}),
        ("accelerator='gpu'", {"library"}),
        ("", {"library"}),
    ],
)
def test_strategies_with_a_name(given: str, kinds: set[str]) -> None:
    facts = facts_of(LIGHTNING, TRAINER.format(given))
    assert {f.value for f in facts if f.field == "parallel.kind"} == kinds


AUTOCAST = """\
import torch
def main(args):
    half = {switch}
    for x, y in loader:
        with torch.cuda.amp.autocast(dtype=torch.bfloat16, enabled=half):
            loss = model(x, y)
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("switch", "who"),
    [
        ("args['meta']['half']", "config"),
        ("args.half", "flag"),
        ("args['half']", "flag"),
        ("args.meta['half']", "flag"),
    ],
)
def test_sections_are_no_flags(switch: str, who: str) -> None:
    found: dict[str, Any] = read_by(AMP, AUTOCAST.format(switch=switch))
    assert found["precision.enabled"] == who
