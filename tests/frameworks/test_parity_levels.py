"""The levels on real frameworks: equal programs pass all, planted bugs fail their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.folders import compile_to_folders
from crosscast.recipe.document import Recipe
from crosscast.recipe.versions import upgraded
from crosscast_parity.compare.harness import compare
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.planning.contestants import of_targets
from crosscast_parity.planning.options import make_options
from frameworks.names import FRAMEWORKS, MARKS
from frameworks.subprocesses import require
from tiers import exhaustive

pytestmark = [*MARKS, pytest.mark.timeout(1800)]

TINY = {
    "version": 1,
    "name": "levels",
    "seed": 7,
    "model": {
        "kind": "bert",
        "layers": 2,
        "hidden_size": 32,
        "attention_heads": 2,
        "intermediate_size": 64,
        "vocab_size": 128,
        "max_positions": 16,
        "labels": 3,
        "dropout": 0.0,
    },
    "data": {"source": "synthetic", "sequence_length": 16, "train_rows": 249, "eval_rows": 64},
    "batch": {"micro_batch_size": 4, "global_batch_size": 16},
    "precision": {"mode": "mixed", "compute_dtype": "float16"},
    "loss_scaling": {"mode": "dynamic", "init_scale": 4096.0, "growth_interval": 5},
    "accumulation": {"steps": 4},
    "clipping": {"kind": "global_norm", "max_norm": 0.35},
    "optimizer": {
        "name": "adamw",
        "learning_rate": 1e-3,
        "weight_decay": 0.1,
        "no_decay": ("bias", "layer_norm"),
    },
    "schedule": {"name": "linear", "warmup_steps": 8, "total_steps": 24},
}


def compared(folder: Path, **changes: Any) -> ParityReport:
    for target in FRAMEWORKS:
        require(target)
    recipe = Recipe.model_validate(upgraded(TINY | changes))
    return compare(
        of_targets(FRAMEWORKS, recipe, {}),
        options=make_options(folder, check="quick", windows=24, jobs=2),
        compile_to=compile_to_folders,
    )


def levels(report: ParityReport, result: str) -> set[str]:
    return {check.level for pair in report.pairs for check in pair.checks if check.result == result}


CHANGES: list[dict[str, Any]] = [
    {},
    {"precision": {"mode": "full", "compute_dtype": "float16"}},
    {"precision": {"mode": "mixed", "compute_dtype": "bfloat16"}, "loss_scaling": {"mode": "none"}},
]


@exhaustive("every level in three types; `make test` has test_three_frameworks")
@pytest.mark.parametrize(
    "changes", CHANGES, ids=["mixed-float16", "full-float16", "mixed-bfloat16"]
)
def test_emitted_scripts_pass_every_level(tmp_path: Path, changes: dict[str, Any]) -> None:
    report = compared(tmp_path, **changes)
    assert {p.contestant: p.wording for p in report.pairs if p.verdict != "EQUIVALENT"} == {}
    passed = levels(report, "pass")
    assert {"gate", "L0a", "L0b", "L0c", "L0d", "L1a", "L1b", "L1c", "L1d", "L2"} <= passed
    assert levels(report, "not tested") == set()
