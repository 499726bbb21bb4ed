"""Level L0d in long runs: products that change their type late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crosscast.plan.operations import Dtype
from crosscast.reference.rounding import round_to
from crosscast_parity.levels.dtypes import check_dtypes, check_later_types
from crosscast_parity.recordings.observations import Observation
from dtype_fakes import BRAIN, HALF, NONE, recipe_in, with_gradients
from replay_fakes import record


@pytest.mark.parametrize(
    ("precision", "late"),
    [
        (HALF, None),
        (HALF, "bfloat16"),
        (BRAIN, None),
        (BRAIN, "float16"),
        (NONE, "float16"),
        (NONE, "bfloat16"),
    ],
)
def test_a_type_that_changes_late_is_found(precision: str, late: Dtype | None) -> None:
    recipe = recipe_in(precision)
    own = recipe.precision.compute_dtype if recipe.half else None
    right, wrong = (with_gradients(record(recipe), dtype) for dtype in (own, late))
    assert check_later_types(recipe, right).result == "pass"
    changed = replace(right, windows=(*right.windows[:-1], wrong.windows[-1]))
    check = check_later_types(recipe, changed)
    assert (check.result, check.name) == ("fail", "gradient grid of later windows")
    assert check.wording.startswith(f"window {right.windows[-1].window}, ")
    # The short runs are judged by their first window.
    short = {c.name: c.result for c in check_dtypes(recipe, changed, emulated=False)}
    assert short["gradient grid"] == "pass"


def scaled(observation: Observation, size: float) -> Observation:
    """Bring gradients, rounded to float16, to another size."""
    windows = [
        replace(w, first={n: round_to(a * np.float32(size), "float16") for n, a in w.first.items()})
        for w in observation.windows
    ]
    return replace(observation, windows=tuple(windows))


def test_numbers_that_are_subnormal_in_float16_do_not_count() -> None:
    """They have as few bits as numbers of bfloat16."""
    recipe = recipe_in(HALF)
    found = with_gradients(record(recipe), None)
    largest = max(float(np.abs(a).max()) for w in found.windows for a in w.first.values())
    check = check_later_types(recipe, scaled(found, 2.0**-15 / largest))
    assert (check.result, check.value) == ("not tested", None)
    assert check.wording == "no gradient of a single micro-batch has enough normal numbers"
    assert check_later_types(recipe, scaled(found, 2.0**-8 / largest)).result == "pass"
    # A float32 recipe scales nothing: its gradients are as small, and are judged.
    single = recipe_in(NONE)
    assert check_later_types(single, scaled(found, 2.0**-15 / largest)).result == "fail"


def test_skipped_windows_and_sums_of_several_micro_batches_do_not_count() -> None:
    recipe = recipe_in(HALF)
    wrong = with_gradients(record(recipe), None)
    skipped = [replace(w, row=replace(w.row, skipped=True)) for w in wrong.windows]
    summed = [replace(w, first={}) for w in wrong.windows]
    for windows in (skipped, summed):
        check = check_later_types(recipe, replace(wrong, windows=tuple(windows)))
        assert check.result == "not tested"
        assert check.wording == "no gradient of a single micro-batch was recorded"
