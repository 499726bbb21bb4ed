"""What is said where files that were not given decide: who does, and no more than can be seen."""

from __future__ import annotations

import textwrap
from typing import Any

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python import mmengine as py_mmengine
from crosscast_reading.trainstep.steps.search import training_steps
from crosscast_torch.reading import schedules as py_torch_schedules
from reading_helpers.reader_texts import shown
from reading_helpers.torch_programs import read_by

EPOCHS = """
for epoch in range(9):
    for x, y in loader:
        {before}
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    {after}
"""


def loop(before: str = "pass", after: str = "pass") -> str:
    return EPOCHS.format(before=before.replace("\n", "\n        "), after=after)


def decay(text: str) -> Any:
    return read_by(py_torch_schedules.READER, "import torch\n" + text).get("schedule.name")


def test_rates_that_the_caller_brings() -> None:
    body = "for group in optimizer.param_groups:\n    group['lr'] = rates[step]"
    text = "def train(model, loader, optimizer, rates, step, criterion):\n"
    assert decay(text + textwrap.indent(loop(body), "    ")) == "caller"


def test_the_kind_of_clipping_of_another_file() -> None:
    text = """
    import torch
    import tools
    for x in loader:
        loss = model(x)
        loss.backward()
        tools.clip_gradients(model, 3.0)
        optimizer.step()
        optimizer.zero_grad()
    """
    program, _ = read_program([Source("train.py", textwrap.dedent(text))])
    (step,) = training_steps(program)
    assert [event.detail["kind"].value for event in step.of("clip")] == ["elsewhere"]  # type: ignore[union-attr]


def test_the_optimizer_of_a_fabric_in_a_dictionary() -> None:
    text = """
    import lightning
    fabric = lightning.Fabric()
    optimizer = fabric.setup_optimizers(make())
    state = {"optimizer": optimizer}
    def fit(state):
        optimizer = state["optimizer"]
        for x in loader:
            fabric.backward(model(x))
            optimizer.step()
            optimizer.zero_grad()
    fit(state)
    """
    program, _ = read_program([Source("train.py", textwrap.dedent(text))])
    assert any(step.of("step") for step in training_steps(program))


def mm(text: str) -> dict[str, Any]:
    program, _ = read_program([Source("config.py", textwrap.dedent(text))])
    return {f"{f.field} {f.subject}".strip(): shown(f) for f in py_mmengine.READER.read(program)}


def test_optimizers_of_several_parts() -> None:
    found = mm("""
    _base_ = ['./model.py']
    optimizer = dict(
        generator=dict(type='Adam', lr=0.0002, betas=(0.5, 0.99)),
        discriminator=dict(type='Adam', lr=0.0004, betas=(0.5, 0.99)))
    lr_config = dict(policy='Linear', by_epoch=False, target_lr=0)
    total_iters = 100
    """)
    assert found["optimizer.learning_rate generator"] == 0.0002
    assert found["optimizer.learning_rate discriminator"] == 0.0004
    assert found["optimizer.role generator"] == "generator"
    assert found["schedule.name"] == "linear"


def test_a_configuration_that_only_changes_the_model() -> None:
    text = "_base_ = ['../schedules/long.py', '../runtime.py']\nmodel = dict(head=dict(n=9))\n"
    found = mm(text)
    assert found["precision.enabled"] == found["schedule.name"] == "inherit"
    assert "schedule.name" not in mm(text.replace("schedules", "plans"))
    assert mm("_base_ = ['../a.py']\nwords = 3\n") == {}
