"""The harness on real emitted PyTorch scripts: the same program twice, and a mistranslated one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast.emit.folders import compile_to_folders
from crosscast.recipe.document import Recipe
from crosscast_parity.compare.harness import compare
from crosscast_parity.judge.records import Pair, ParityReport
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from frameworks.subprocesses import require
from parity_fakes import make_recipe
from tiers import exhaustive

ADAMW = {"name": "adamw", "learning_rate": 1e-3}
HALF = {"mode": "mixed", "compute_dtype": "float16"}


def compared(
    folder: Path, recipe: Recipe, change: tuple[str, str] = ("", ""), **options: Any
) -> ParityReport:
    """Compare the PyTorch script with a copy of itself in which `change` was made."""
    require("torch")

    def edit(script: Path) -> None:
        text = (script / "train.py").read_text()
        assert change[0] in text
        (script / "train.py").write_text(text.replace(*change, 1))

    changed = Contestant(name="changed", target="torch", recipe=recipe, edits=(edit,))
    return compare(
        [Contestant(name="torch", target="torch", recipe=recipe), changed],
        options=make_options(folder, check="model", half="native", jobs=2, **options),
        compile_to=compile_to_folders,
    )


def only_pair(report: ParityReport) -> Pair:
    assert [run.outcome.message for run in report.runs] == [""] * len(report.runs)
    (pair,) = report.pairs
    return pair


@exhaustive("the same script twice; `make test` has test_three_frameworks")
@pytest.mark.torch
def test_the_same_script_twice_is_bit_equal_and_survives_faults(tmp_path: Path) -> None:
    recipe = make_recipe(precision=HALF, optimizer=ADAMW)
    # What was run once is not run again; a remark makes the copy a script of its own.
    remark = ('"""', '"""Copied. ')
    report = compared(tmp_path, recipe, remark, windows=22, faults=["2:1=inf", "5:0=nan"])
    found = only_pair(report)
    assert not any(run.cached for run in report.runs)
    assert found.verdict == "EQUIVALENT", found.wording
    between = [c for c in found.checks if c.level in ("L1a", "L1c", "L2")]
    assert {check.value for check in between if check.result != "not tested"} == {0.0}
    poisoned = report.runs_of("model", "faults")
    for name in ("torch", "changed"):
        rows = poisoned[name].rows
        assert [row.window for row in rows if row.skipped] == [2, 5]
        assert [row.scale for row in rows[:7]] == [1024.0] * 3 + [512.0] * 3 + [256.0]


@exhaustive("a planted bug on a real framework; with stand-ins in `make test`")
@pytest.mark.torch
def test_a_wrong_epsilon_is_different(tmp_path: Path) -> None:
    recipe = make_recipe(scaled=False, optimizer=ADAMW)
    report = compared(tmp_path, recipe, ("EPS = 1e-08", "EPS = 0.001"), windows=24)
    found = only_pair(report)
    envelope = report.stages[0].envelope
    assert envelope is not None
    assert 0 < envelope.spread[-1] < 1e-5
    assert found.verdict == "DIFFERENT"
    failed = {(c.level, c.name.partition(",")[0]) for c in found.checks if c.result == "fail"}
    seen = {("L1b", "update"), ("L1b", "tensors of the toy"), ("L2", "trajectory")}
    assert seen <= failed
    # The model is right: only what is computed with the weights that were updated differs.
    later = {("L1a", "later gradients"), ("L1a", "later gradients by tensor")}
    later |= {("L2", "final evaluation")}
    assert failed <= seen | {("L0c", "gradient norm")} | later
