"""Stand-ins for the parity tests: a NumPy script that keeps the contract, recipes, traces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe
from crosscast.recipe.versions import upgraded
from crosscast_parity.levels.machine import replay
from crosscast_parity.recordings.trace import TraceRow
from program_files import files_in

# A linear classifier on mean word vectors, trained by SGD. `BUG` names one deliberate mistake.
_FILES = files_in(Path(__file__).with_suffix(".md"))
FAKE_SCRIPT = _FILES["fake_script.py"]


def make_recipe(*, scaled: bool = True, **changes: Mapping[str, Any]) -> Recipe:
    """The recipe that the fake script realises; `changes` update whole sections."""
    dynamic = {"mode": "dynamic", "init_scale": 1024.0, "growth_interval": 5}
    document: dict[str, Any] = {
        "version": 1,
        "name": "fake",
        "model": {
            "kind": "bert",
            "layers": 1,
            "hidden_size": 8,
            "attention_heads": 1,
            "intermediate_size": 8,
            "vocab_size": 64,
            "max_positions": 16,
            "labels": 3,
            "dropout": 0.0,
        },
        "data": {
            "source": "synthetic",
            "sequence_length": 16,
            "train_rows": 100,  # the seventh window of an epoch holds 4 rows
            "eval_rows": 32,
        },
        "batch": {"micro_batch_size": 8, "global_batch_size": 16},
        "loss_scaling": dynamic if scaled else {"mode": "none"},
        "accumulation": {"steps": 2},
        "optimizer": {"name": "sgd", "learning_rate": 0.5},
        "schedule": {"name": "linear", "total_steps": 64, "warmup_steps": 4},
    }
    for section, values in changes.items():
        document[section] = document.get(section, {}) | values
    return Recipe.model_validate(upgraded(document))


def write_fakes(
    folder: Path,
    bugs: Mapping[str, str],
    *,
    scaled: bool = True,
    init: float = 1024.0,
    interval: int = 5,
) -> None:
    """Write one fake script per target with its bug (empty for none)."""
    for target, bug in bugs.items():
        text = FAKE_SCRIPT.replace("@BUG@", bug).replace("@SCALED@", str(scaled))
        text = text.replace("@INIT@", repr(init)).replace("@INTERVAL@", str(interval))
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / "train.py").write_text(text)


def good_rows(
    windows: int = 40, *, plan: Plan | None = None, skipped: Sequence[int] = (), noise: float = 0.0
) -> list[TraceRow]:
    """A trace as the plan wants it: falling loss, the given windows skipped, noise on the loss."""
    blank = [
        TraceRow(
            window=t,
            n_micro=2,
            rows=16,
            loss=1.1 / (1 + 0.01 * t) + noise * math.sin(7 * t),
            lr=0.0,
            grad_norm=None if t in skipped else 0.5 + 0.1 * math.cos(t),
            scale=1.0,
            skipped=t in skipped,
            updates=0,
        )
        for t in range(windows)
    ]
    expected = replay(plan or canonical_plan(make_recipe()), blank)
    return [
        replace(row, scale=e.scale, updates=e.updates, lr=e.lr)
        for row, e in zip(blank, expected, strict=True)
    ]
