"""The harness on real emitted PyTorch scripts: the same program twice, and a mistranslated one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from crosscast.compiler import compile_recipe
from crosscast.output import write_files
from crosscast.recipe import Recipe
from crosscast_parity.harness import run_parity
from crosscast_parity.options import make_options
from crosscast_parity.records import Pair, ParityReport
from parity_fakes import make_recipe

ADAMW = {"name": "adamw", "learning_rate": 1e-3}
HALF = {"mode": "mixed", "compute_dtype": "float16"}


def compare(
    folder: Path, recipe: Recipe, change: tuple[str, str] = ("", ""), **options: Any
) -> ParityReport:
    """Compare the PyTorch script with a copy of itself in which `change` was made."""

    def compile_twice(recipe: Recipe, targets: Sequence[str], directory: Path) -> None:
        files = compile_recipe(recipe, ["torch"])[0].files
        write_files(directory / "torch", files, force=True)
        write_files(directory / "paddle", files, force=True)
        script = directory / "paddle" / "train.py"
        text = script.read_text()
        assert change[0] in text
        script.write_text(text.replace(*change))

    return run_parity(
        recipe,
        options=make_options(["torch", "paddle"], folder, half="native", **options),
        compile_to=compile_twice,
    )


def only_pair(report: ParityReport) -> Pair:
    assert [run.outcome.message for run in report.runs] == [""] * len(report.runs)
    return report.pairs[0]


@pytest.mark.torch
@pytest.mark.slow
def test_the_same_script_twice_is_bit_equal_and_survives_faults(tmp_path: Path) -> None:
    recipe = make_recipe(precision=HALF, optimizer=ADAMW)
    report = compare(tmp_path, recipe, windows=22, faults=["2:1=inf", "5:0=nan"])
    found = only_pair(report)
    assert found.verdict == "EQUIVALENT", found.wording
    assert {check.value for check in found.checks if check.level in ("L1", "L2")} == {0.0}
    poisoned = next(run for run in report.runs if run.name == "torch-faults")
    assert [row.window for row in poisoned.rows if row.skipped] == [2, 5]
    assert [row.scale for row in poisoned.rows[:7]] == [1024.0] * 3 + [512.0] * 3 + [256.0]


@pytest.mark.torch
@pytest.mark.slow
def test_a_wrong_epsilon_is_different(tmp_path: Path) -> None:
    recipe = make_recipe(scaled=False, optimizer=ADAMW)
    report = compare(tmp_path, recipe, ("EPS = 1e-08", "EPS = 0.001"), windows=24)
    found = only_pair(report)
    assert report.envelope is not None
    assert 0 < report.envelope.spread[-1] < 1e-5
    assert found.verdict == "DIFFERENT"
    assert {c.level for c in found.checks if c.result == "fail"} <= {"L0c", "L2"}
