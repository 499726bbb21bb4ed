"""Configurations of DeepSpeed that a program reads from a file and changes."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_reading.facts.profile import profile_of
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.precedence import settle


def values_of(text: str, *others: Source) -> dict[str, Any]:
    """Return what counts of the fields that are known."""
    sources = [Source("train.py", textwrap.dedent(text)), *others]
    settled = settle(profile_of(analyse(sources).subject.profile))
    return {name: found.fact.value for (name, who), found in settled.items() if not who}


CHANGED = """
    import json
    import deepspeed

    with open(path) as file:
        config = json.load(file)
    config["train_micro_batch_size_per_gpu"] = 4
    config["gradient_accumulation_steps"] = 8
    config["optimizer"]["params"]["lr"] = 1e-4
    config["optimizer"]["params"]["betas"] = (0.9, 0.95)
    config["scheduler"]["params"]["warmup_num_steps"] = 30
    engine, optimizer, _, scheduler = deepspeed.initialize(model=model, config=config)
"""


def test_entries_that_the_program_sets() -> None:
    found = values_of(CHANGED)
    assert found["accumulation.steps"] == 8
    assert found["batch.micro_batch_size"] == 4
    assert found["optimizer.learning_rate"] == 1e-4
    assert found["optimizer.betas.1"] == 0.95
    assert found["schedule.warmup"] == "30 steps"
    assert found["parallel.kind"] == ("deepspeed",)
    assert found["precision.enabled"] == "config"
    assert "clipping.kind" not in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('config["gradient_accumulation_steps"] = 8', 'other["gradient_accumulation_steps"] = 8'),
        ('config["gradient_accumulation_steps"] = 8', "config[key] = 8"),
        (
            '    config["gradient_accumulation_steps"] = 8\n',
            '    def f(config):\n        config["gradient_accumulation_steps"] = 8\n',
        ),
    ],
)
def test_entries_of_something_else(old: str, new: str) -> None:
    found = values_of(CHANGED.replace(old, new))
    assert "accumulation.steps" not in found
    assert found["optimizer.learning_rate"] == 1e-4


FILE = """{
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": "auto",
  "optimizer": {"type": "AdamW", "params": {"lr": "auto", "eps": 1e-6}},
  "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}},
  "gradient_clipping": 0.5
}"""


def test_the_file_says_what_the_program_leaves() -> None:
    values = values_of(CHANGED, Source("ds.json", FILE))
    assert values["schedule.name"] == "constant"
    assert values["schedule.warmup"] == "30 steps"
    assert values["accumulation.steps"] == 8
    assert values["clipping.value"] == 0.5
