"""Updates that read weights in half: of made-up runs, as a script with that mistake would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Dtype
from crosscast.plan.schedule import learning_rate
from crosscast.recipe.document import Recipe
from crosscast.reference.operations import Attempt
from crosscast.reference.rounding import round_to
from crosscast_parity.levels.replay import replay_run
from replay_fakes import Hook, by_name, record, stress

ADAMW = "{name: adamw, learning_rate: 1e-2, weight_decay: 0.1, no_decay: [layer_norm]}"
OPTIMIZERS = {
    "adamw": ADAMW,
    "spared": "{name: adamw, learning_rate: 1e-2, weight_decay: 0.1, no_decay: [bias]}",
    "sgd": "{name: sgd, learning_rate: 1e-2, momentum: 0.9, weight_decay: 0.1}",
    "lion": "{name: lion, learning_rate: 1e-2, weight_decay: 0.1}",
}


def recipe_in(half: Dtype, optimizer: str) -> Recipe:
    scaling = "{mode: dynamic, init_scale: 4096}" if half == "float16" else "{mode: none}"
    precision = f"{{mode: mixed, compute_dtype: {half}}}"
    return stress(precision=precision, optimizer=optimizer, loss_scaling=scaling)


def decaying_rounded(recipe: Recipe, half: Dtype) -> Hook:
    """Return what moves weights by the difference that the decay of half copies makes."""
    plan = canonical_plan(recipe)
    step, schedule = plan.find(ops.Step), plan.find(ops.Schedule)
    assert step is not None
    assert schedule is not None
    decay = recipe.optimizer.weight_decay

    def before(op: ops.Op, attempt: Attempt) -> Any:
        if not isinstance(op, ops.Step) or not attempt.finite:
            return
        rate = learning_rate(schedule, attempt.position)
        parameters = dict(attempt.parameters)
        for name, weight in attempt.parameters.items():
            if "LayerNorm" in name:
                continue
            exact = weight.astype(np.float64)
            moved = exact - rate * decay * (round_to(weight, half) - exact)
            parameters[name] = moved.astype(np.float32)
        attempt.parameters = parameters

    return before


@pytest.mark.parametrize(("half", "rate"), [("float16", "1e-2"), ("bfloat16", "1e-3")])
def test_decay_of_half_weights_is_seen(half: Dtype, rate: str) -> None:
    recipe = recipe_in(half, ADAMW.replace("1e-2", rate))
    run = record(recipe, before_op=decaying_rounded(recipe, half), windows=8)
    update = by_name(replay_run(recipe, run))["update"]
    assert update.result == "fail"
    assert update.wording == f"it reads weights that were rounded to {half}"


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_right_updates_are_not_accused(half: Dtype, name: str) -> None:
    recipe = recipe_in(half, OPTIMIZERS[name])
    for seed in range(4):
        update = by_name(replay_run(recipe, record(recipe, windows=8, seed=seed)))["update"]
        assert update.result == "pass", update.wording


@pytest.mark.parametrize("power", [-16, -15, -14, -13, -12])
def test_decay_that_float32_rounds_as_a_half_type_does_is_not_accused(power: int) -> None:
    """Rate times decay is then a share at which float32 itself loses what half numbers lose."""
    optimizer = f"{{name: sgd, learning_rate: {2.0 ** (power + 4)!r}, weight_decay: 0.0625}}"
    for half in ("float16", "bfloat16"):
        recipe = recipe_in(half, optimizer)
        constant = recipe.model_copy(
            update={"schedule": recipe.schedule.model_copy(update={"warmup_steps": 0})}
        )
        update = by_name(replay_run(constant, record(constant, windows=2, size=1e-6)))["update"]
        assert update.result != "fail", update.wording
