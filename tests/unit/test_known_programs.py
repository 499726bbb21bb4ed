"""The comparison of lifted fields with what programs do, and its data."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import lift

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "known_programs"
PROGRAM = """\
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
for step in range(9):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.fixture
def fields(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARK)
    return import_module("fields")


@pytest.mark.parametrize(
    ("said", "true", "agree"),
    [
        (1, 1.0, True),
        (1e-5, 0.00001, True),
        (1, 2, False),
        (True, 1, False),
        (False, False, True),
        (None, "none", True),
        ("none", "none", True),
        (None, None, False),
        (0, None, False),
        ([0.9, 0.99], [0.9, 0.99], True),
        ((0.9, 0.99), [0.9, 0.99], True),
        ([0.9], [0.9, 0.99], False),
        ("adam", "adamw", False),
        ("sample", {"one_of": ["sample", "token"]}, True),
        ("flush", {"one_of": ["sample", "token"]}, False),
        ("flush", "*", True),
    ],
)
def test_values_that_agree(fields: ModuleType, said: Any, true: Any, agree: bool) -> None:
    assert fields.agrees(said, true) is agree


def test_verdicts(fields: ModuleType) -> None:
    lifted = lift(analyse([Source("train.py", PROGRAM)]))
    truth = {
        "optimizer.learning_rate": 0.3,
        "optimizer.name": "adam",
        "schedule.total_steps": 9000,
        "optimizer.weight_decay": None,
        "distributed.nodes": 1,
        "batch.global_batch_size": 64,
        "no.such": 1,
    }
    found = {path: verdict for path, verdict, _ in fields.judged(lifted, truth)}
    assert found["optimizer.learning_rate"] == "right"
    assert found["optimizer.name"] == "wrong"
    assert found["optimizer.weight_decay"] == "wrong"  # said, where only the program knows
    assert found["schedule.total_steps"] == "FILL IN"
    assert found["distributed.nodes"] == "right"  # not written: the default of recipes
    assert found["batch.global_batch_size"] == "FILL IN"  # derived from what is left open
    assert found["clipping.kind"] == "unjudged"
    assert "no.such" not in found
    assert not any(path.startswith("model.") for path in found)


def test_data() -> None:
    entries = json.loads((BENCHMARK / "programs.json").read_text())
    names = [entry["name"] for entry in entries]
    assert len(set(names)) == len(names)
    for entry in entries:
        assert len(entry["commit"]) == 40
        assert entry["files"]
        assert all(len(digest) == 64 for digest in entry["files"].values())
        assert entry["command"].strip()
        assert entry["fields"]
