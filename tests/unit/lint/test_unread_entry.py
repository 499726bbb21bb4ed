"""Entries of a configuration that the training program never reads (CL925)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

PROGRAM = """
import paddle
import yaml
from parts import build

def main(path):
    settings = yaml.load(open(path), Loader=yaml.Loader)
    {before}
    model = build(settings["model"])
    schedule = paddle.optimizer.lr.StepDecay(settings["optim"]["rate"], {steps})
    optimizer = paddle.optimizer.SGD(schedule, model.parameters())
    for x, y in loader:
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()

main("train.yaml")
"""
YAML = """
model:
  depth: 3
  warmup: 4
optim:
  rate: 0.1
lr_scheduler:
  steps: 10
  {entry}: 3
"""
STEPS = 'settings["lr_scheduler"]["steps"]'


def found(text: str, entry: str = "gamma", *, more: str = "") -> bool:
    sources = [Source("train.yaml", YAML.format(entry=entry)), Source("train.py", text)]
    sources += [Source("other.yaml", more)] if more else []
    return "CL925" in {result.code for result in lint_sources(sources)}


@pytest.mark.parametrize(
    ("before", "steps", "dead"),
    [
        ("pass", STEPS, True),
        ("print(settings)", STEPS, True),
        ("print(settings['lr_scheduler'])", STEPS, True),
        ("pass", 'settings.get("lr_scheduler").get("steps", 3)', True),
        ("print(settings['lr_scheduler']['gamma'])", STEPS, False),
        ("show(settings)", STEPS, False),
        ("part = settings['lr_scheduler']", STEPS, False),
        ("use(settings['lr_scheduler'])", STEPS, False),
        ("settings = merge(settings)", STEPS, False),
        ("for name in settings: print(name)", STEPS, False),
        ("print(settings[name])", STEPS, False),
        ("other = yaml.safe_load(open('b.yaml'))", STEPS, False),
        ("show(path)", STEPS, False),
        ("show('train.yaml')", STEPS, False),
        ("show('other')", STEPS, True),
        ("show(optimizer)", STEPS, False),
        ("pass", 'settings["other"]["steps"]', False),
        ("pass", 'settings["lr_scheduler"]["milestones"]', False),
    ],
)
def test_entries(before: str, steps: str, dead: bool) -> None:
    assert found(PROGRAM.format(before=before, steps=steps)) is dead


def test_what_the_file_says_twice_or_without_a_word() -> None:
    text = PROGRAM.format(before="pass", steps=STEPS)
    assert found(text, "'gamma'")
    assert not found(text, "null")
    assert not found(text, "? [a, b]\n  ")
    sources = [Source("train.py", text), Source("train.yaml", YAML.format(entry="gamma"))]
    assert "CL925" in {result.code for result in lint_sources(sources)}
    shared = sources[1].text.replace("gamma: 3", "gamma: &it 3") + "other: *it\n"
    sources[1] = Source("train.yaml", shared)
    assert "CL925" not in {result.code for result in lint_sources(sources)}


def test_files() -> None:
    text = PROGRAM.format(before="pass", steps=STEPS)
    assert not found(text, "steps")
    assert not found(text, more=YAML.format(entry="gamma"))
    assert not found(text.replace("loss.backward()", "print(loss)"))
    assert not found(text.replace("lr_scheduler", "other"), "gamma")
    assert not found(text.replace("    settings =", "    self.settings ="))


def test_a_name_of_the_module() -> None:
    text = PROGRAM.format(before="pass", steps=STEPS)
    lines = [line[4:] if line.startswith("    ") else line for line in text.splitlines()]
    plain = "\n".join(lines).replace("def main(path):\n", "").replace('main("train.yaml")', "")
    plain = plain.replace("open(path)", 'open("train.yaml")')
    assert found(plain)
    sources = [Source("train.yaml", YAML.format(entry="gamma")), Source("train.py", plain)]
    helper = Source("parts.py", "import train\ndef build(x):\n    print(train.settings)\n")
    assert "CL925" not in {result.code for result in lint_sources([*sources, helper])}


NUMBERS = """
import paddle
import {module}
{more}

optimizer = paddle.optimizer.Adam({rate}, parameters=model.parameters())
for x, y in loader:
    paddle.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.clear_grad()
"""
SETTINGS = "rate = 0.1\nlr_decay = [1, 0.1]\n{more}\n"
SHOW = "def show():\n    for name in ['rate', 'lr_decay']:\n        {line}"


@pytest.mark.parametrize(
    ("rate", "more", "settings", "dead"),
    [
        ("config.rate", "", "", True),
        ("learning_rate=config.rate", "", "warmup_steps = 10", True),
        ("config.rate", "", SHOW.format(line="print(name, eval(name))"), True),
        ("config.rate", "", SHOW.format(line="use(name, eval(name))"), False),
        ("0.1", "", "", False),
        ("config.other", "", "other = make(rate)", False),
        ("config.rate", "print(config.lr_decay)", "", False),
        ("config.rate", "from config import lr_decay", "", False),
        ("config.rate", "from config import *", "", False),
        ("config.rate", "show(config)", "", False),
        ("config.rate", "print(getattr(config, name))", "", False),
        ("config.rate", "adjust_rate(optimizer, epoch)", "", False),
        ("config.rate", "optimizer.set_lr(rates[0])", "", False),
        ("config.rate", "from helpers import build", "", False),
        ("config.rate", "import numpy", "", True),
        ("config.rate", "change(optimizer)", "", False),
        ("config.rate", "", "last = lr_decay[0]", False),
        ("config.rate", "", "class Own:\n    lr_decay = 3", False),
        ("config.rate", "", "if fast:\n    rate = 0.3", False),
    ],
)
def test_modules_of_settings(rate: str, more: str, settings: str, dead: bool) -> None:
    sources = [
        Source("train.py", NUMBERS.format(module="config", rate=rate, more=more)),
        Source("config.py", SETTINGS.format(more=settings)),
    ]
    assert ("CL925" in {result.code for result in lint_sources(sources)}) is dead


def test_settings_without_a_schedule() -> None:
    text = NUMBERS.format(module="config", rate="config.rate", more="")
    sources = [Source("train.py", text), Source("config.py", "rate = 0.1\nclasses = 3\n")]
    assert "CL925" not in {result.code for result in lint_sources(sources)}
    assert "CL925" not in {result.code for result in lint_sources(sources[:1])}
