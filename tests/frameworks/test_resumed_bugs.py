"""Bugs after a resume that the recipe of the other planted bugs cannot show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crosscast_parity.compare.harness import compare
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.stages import make_stages
from crosscast_parity.recipes.derived import changed
from crosscast_parity.self_test.mutation import Mutation
from frameworks.subprocesses import warm
from mutants.emitted import compile_to
from mutants.shared_resumed import SCALER
from mutants.spelling import runtime
from mutants.trials import Plant, load_recipe
from tiers import cases

LOST = runtime("checkpoint", SCALER, SCALER.replace("counters)", 'counters | {"bad": 0})'))
LOST_HYSTERESIS = Mutation(
    name="resumed_bad_lost",
    title="a count of overflows is not restored",
    field="",
    expected=("L1d",),
    forms=((LOST,),),
)
FRAMEWORKS = ("torch", "tensorflow", "paddle")


@pytest.mark.parametrize(
    "framework", cases(FRAMEWORKS, quick=["torch"], reason="a lost count in other frameworks")
)
def test_a_lost_count_of_overflows_is_named(tmp_path: Path, framework: str) -> None:
    """Two overflows lower the scale here, so that a resume can be between them."""
    recipe = changed(load_recipe(), {"loss_scaling.hysteresis": 2})
    quick = make_stages(recipe, "quick", windows=12, twins=0)[0]
    stage = replace(quick, parts=frozenset({"gate", "faults"}))
    plant = Plant(LOST_HYSTERESIS)
    clean = Contestant(name="clean", target=framework, recipe=recipe, python=warm(framework))
    report = compare(
        [clean, replace(clean, name="bug", edits=(plant,))],
        options=make_options(tmp_path, reference="clean", jobs=1),
        compile_to=compile_to,
        stages=[stage],
    )
    assert plant.planted
    restored = {
        name: next(c for c in report.entrant(name).checks if c.name == "restored state")
        for name in ("clean", "bug")
    }
    assert restored["clean"].result == "pass", restored["clean"].wording
    assert ", bad, stuck as they were" in restored["clean"].wording
    assert restored["bug"].result == "fail"
    assert restored["bug"].wording.endswith(": bad is 0, it was 1")
