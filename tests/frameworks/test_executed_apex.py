"""The executed proof of migrations of apex: a stand-in runs the old side."""

from __future__ import annotations

import pytest

from crosscast_parity.side_by_side.running import Limits
from frameworks.subprocesses import require, warm
from side_by_side import Bench, migrated
from tiers import exhaustive

pytestmark = pytest.mark.torch

APEX = """\
import torch
from apex import amp

torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for number in range(12):
    rows, labels = torch.randn(4, 8), torch.randint(0, 4, (4,))
    loss = torch.nn.functional.cross_entropy(model(rows), labels)
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
WRAPPED = """\
import torch
from apex.fp16_utils import FP16_Optimizer

torch.manual_seed(3)
model = torch.nn.Linear(8, 4).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = FP16_Optimizer(optimizer, dynamic_loss_scale=True)
rows = torch.randn(96, 8)
labels = torch.randint(0, 4, (96,))
for number in range(24):
    part = slice(4 * number, 4 * number + 4)
    loss = torch.nn.functional.cross_entropy(model(rows[part].half()).float(), labels[part]) / 2
    optimizer.backward(loss)
    if number % 2:
        optimizer.step()
        optimizer.zero_grad()
"""


@exhaustive("the original with a stand-in for apex")
def test_a_scale_lowered_after_every_pass_is_noted(bench: Bench) -> None:
    found = bench.prove(WRAPPED, migrated(WRAPPED))
    assert found.outcome == "same", found.wording
    assert "lowers its scale 2 times in one update" in found.notes[-1]
    assert "loss_scaling.backoff_factor" not in found.shown


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    require("torch")
    folder = tmp_path_factory.mktemp("own")
    (folder / "train.py").write_text("raise SystemExit('the copy was not written over')\n")
    return Bench(folder, "torch", Limits(seconds=300.0), warm("torch"))


@exhaustive("the original with a stand-in for apex")
def test_apex_is_stood_in_for(bench: Bench) -> None:
    found = bench.prove(APEX, migrated(APEX))
    assert found.outcome == "same", found.wording
    assert found.updates == 12
    assert found.wording.endswith("an injected overflow is skipped by both")
    assert found.notes[0].startswith("apex is not installed: a stand-in did")


@exhaustive("the original with a stand-in for apex")
def test_a_schedule_may_be_made_after_apex(bench: Bench) -> None:
    start = 'opt_level="O1")\n'
    schedule = "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)\n"
    text = APEX.replace(start, start + schedule).replace(
        "    optimizer.zero_grad()", "    optimizer.zero_grad()\n    schedule.step()"
    )
    found = bench.prove(text, migrated(text))
    assert found.outcome == "same", found.wording


@exhaustive("the original with a stand-in for apex")
@pytest.mark.parametrize(
    ("argument", "what"),
    [("backoff_factor=0.25", "backoff_factor"), ("growth_interval=200", "growth_interval")],
)
def test_other_rules_than_those_of_apex_are_found(bench: Bench, argument: str, what: str) -> None:
    right = migrated(APEX)
    wrong = right.replace('GradScaler("cuda"', f'GradScaler("cuda", {argument}')
    assert wrong != right
    found = bench.prove(APEX, wrong)
    assert found.outcome == "different", found.wording
    assert found.differs == f"loss_scaling.{what}"


@exhaustive("the original with a stand-in for apex")
def test_only_the_first_pass_of_a_window_overflows(bench: Bench) -> None:
    """Apex looks at what a pass adds, so that its scale, too, falls once."""
    windowed = APEX.replace(
        "    optimizer.step()\n    optimizer.zero_grad()",
        """\
    if number % 2:
        optimizer.step()
        optimizer.zero_grad()""",
    )
    found = bench.prove(windowed, migrated(windowed))
    assert found.outcome == "same", found.wording
    assert found.shown["loss_scaling.backoff_factor"].startswith("the scale falls from 65536 to 32")
    assert not [note for note in found.notes if "overflow" in note]
