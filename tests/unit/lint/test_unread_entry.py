"""Entries of a configuration that the training program never reads (CL927)."""

from __future__ import annotations

import pytest

from crosscast.lint.engine import lint_sources
from crosscast.messages.source import Source

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
    return "CL927" in {result.code for result in lint_sources(sources)}


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
        ("pass", 'settings["other"]["steps"]', False),
        ("pass", 'settings["lr_scheduler"]["milestones"]', False),
    ],
)
def test_entries(before: str, steps: str, dead: bool) -> None:
    assert found(PROGRAM.format(before=before, steps=steps)) is dead


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
    assert "CL927" not in {result.code for result in lint_sources([*sources, helper])}
