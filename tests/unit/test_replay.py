"""The replay of recorded windows: faithful runs pass, every mistake in a list is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast.reference.operations import Attempt
from crosscast_parity.levels.replay import UPDATE_LIMIT, replay_run
from property_settings import examples
from recipe_strategies import recipes
from replay_fakes import (
    PLAN,
    RECIPE,
    Arrays,
    by_name,
    change,
    changed,
    record,
    results,
    stress,
    without,
)


def test_a_faithful_run_passes_far_from_the_limits() -> None:
    checks = by_name(replay_run(RECIPE, record(RECIPE)))
    assert {name: check.result for name, check in checks.items()} == {
        "loss factor": "pass",
        "window loss": "pass",
        "gradient norm": "pass",
        "applied gradients": "pass",
        "update": "pass",
    }
    assert all(check.level == "L1b" for check in checks.values())
    value, limit = checks["update"].value, checks["update"].limit
    assert value is not None
    assert limit == UPDATE_LIMIT
    assert value < limit / 30


OPTIMIZERS = (
    "{name: sgd, learning_rate: 0.1}",
    "{name: sgd, learning_rate: 0.1, momentum: 0.9, weight_decay: 0.1}",
    "{name: sgd, learning_rate: 0.1, momentum: 0.9, nesterov: true}",
    "{name: sgd, learning_rate: 0.1, momentum: 0.9, rate_in_momentum: true}",
    "{name: adam, learning_rate: 1e-3, weight_decay: 0.1}",
    "{name: adamw, learning_rate: 1e-3, eps_placement: before_correction}",
    "{name: adamw, learning_rate: 1e-3, bias_correction: false, eps: 1e-6}",
    "{name: lamb, learning_rate: 1e-2, weight_decay: 0.1}",
    "{name: lion, learning_rate: 1e-3, weight_decay: 0.1}",
    "{name: adafactor, learning_rate: 1e-2, weight_decay: 0.1}",
)
CLIPPINGS = (
    "{kind: none}",
    "{kind: per_param_norm, max_norm: 0.1, exempt: [layer_norm]}",
    "{kind: global_norm, max_norm: 0.35, eps: 0.0, exempt: [bias, embedding]}",
    "{kind: value, max_value: 0.01}",
)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_is_replayed(optimizer: str) -> None:
    recipe = stress(optimizer=optimizer)
    assert set(results(replay_run(recipe, record(recipe))).values()) == {"pass"}
    wrong = change(canonical_plan(recipe), ops.Schedule, learning_rate=1.01 * 0.1)
    assert results(replay_run(recipe, record(recipe, plan=wrong)))["update"] == "fail"


@pytest.mark.parametrize("clipping", CLIPPINGS)
def test_every_clipping_is_replayed(clipping: str) -> None:
    recipe = stress(clipping=clipping)
    assert set(results(replay_run(recipe, record(recipe))).values()) == {"pass"}
    observed = record(recipe, plan=PLAN)  # clips by the global norm instead
    assert results(replay_run(recipe, observed))["applied gradients"] == "fail"


def test_parameter_groups_are_replayed() -> None:
    groups = '[{parameters: ["bert.embeddings.*"], rate_factor: 0.5, weight_decay: 0.3}]'
    recipe = stress(optimizer=f"{{name: adamw, learning_rate: 1e-3, groups: {groups}}}")
    assert set(results(replay_run(recipe, record(recipe))).values()) == {"pass"}
    wrong = change(canonical_plan(recipe), ops.Step, groups=())
    check = by_name(replay_run(recipe, record(recipe, plan=wrong)))["update"]
    assert check.result == "fail"
    assert "bert.embeddings" in check.wording
    assert "groups without effect" in check.wording


ONE = "bert.embeddings.LayerNorm.weight"
KERNEL = "bert.encoder.layer.0.attention.self.query.weight"


@pytest.mark.parametrize(
    ("group", "cause"),
    [
        ((ONE, 0.1), f"fits decay also on biases and LayerNorm, only in {ONE}"),
        ((KERNEL, 0.0), f"fits no decay, only in {KERNEL}"),
        (("*.dense.weight", 0.0), "output.dense.weight and 1 more"),
    ],
)
def test_a_mistake_in_some_tensors_is_not_told_of_all(group: tuple[str, float], cause: str) -> None:
    pattern, decay = group
    wrong = change(PLAN, ops.Step, groups=(ops.Group(parameters=(pattern,), weight_decay=decay),))
    words = by_name(replay_run(RECIPE, record(RECIPE, plan=wrong)))["update"].wording
    assert cause in words


def test_skipped_windows_are_replayed() -> None:
    observed = record(RECIPE, overflow=(1,))
    assert observed.windows[1].row.skipped
    assert set(results(replay_run(RECIPE, observed)).values()) == {"pass"}


HALF_SUMS = {
    "precision": "{mode: full, compute_dtype: bfloat16}",
    "loss_scaling": "{mode: none}",
    "accumulation": "{steps: 3, dtype: compute}",
}


@pytest.mark.parametrize("limit", [1e-3, 1e-2])
def test_half_sums_that_cancel_are_not_accused_after_clipping_by_value(limit: float) -> None:
    recipe = stress(**HALF_SUMS, clipping=f"{{kind: value, max_value: {limit}}}")
    for seed in range(5):
        observed = record(recipe, seed=seed, size=30.0)
        assert "fail" not in results(replay_run(recipe, observed)).values()
    wrong = change(canonical_plan(recipe), ops.Clip, limit=1.1 * limit)
    checks = results(replay_run(recipe, record(recipe, plan=wrong, size=30.0)))
    assert checks["applied gradients"] == "fail"


def test_full_half_weights_with_half_sums_are_replayed() -> None:
    recipe = stress(
        precision="{mode: full, compute_dtype: float16}", accumulation="{steps: 3, dtype: compute}"
    )
    checks = by_name(replay_run(recipe, record(recipe)))
    assert {check.result for check in checks.values()} == {"pass"}
    in_float32 = change(canonical_plan(recipe), ops.Accumulate, dtype="float32")
    check = by_name(replay_run(recipe, record(recipe, plan=in_float32)))["applied gradients"]
    assert check.result == "fail"
    assert "not rounded to float16" in check.wording


@pytest.mark.parametrize(("dtype", "told"), [("float16", False), ("bfloat16", True)])
def test_the_sentence_names_sums_that_round_off_more_than_one_percent(
    dtype: str, told: bool
) -> None:
    recipe = stress(**HALF_SUMS | {"precision": f"{{mode: full, compute_dtype: {dtype}}}"})
    checks = by_name(replay_run(recipe, record(recipe)))
    assert ("update of every tensor" in checks) == told
    if told:
        check = checks["update of every tensor"]
        assert check.result == "not tested"
        assert check.wording == "a sum in half may round off 1.2% of a tensor's gradient"


# Mistakes that are other plans, and the check that must find each.
OTHER_PLANS: dict[str, tuple[Callable[[ops.Plan], ops.Plan], str, str]] = {
    "eps 1e-6": (lambda p: change(p, ops.Step, eps=1e-6), "update", "eps 1e-06"),
    "eps 1e-7": (lambda p: change(p, ops.Step, eps=1e-7), "update", "eps 1e-07"),
    "eps before correction": (
        lambda p: change(p, ops.Step, eps_placement="before_correction"),
        "update",
        "before the bias correction",
    ),
    "beta1": (lambda p: change(p, ops.Step, betas=(0.95, 0.999)), "update", "betas 0.95"),
    "beta2": (lambda p: change(p, ops.Step, betas=(0.9, 0.98)), "update", "betas 0.9 and 0.98"),
    "no bias correction": (
        lambda p: change(p, ops.Step, bias_correction=False),
        "update",
        "no bias correction",
    ),
    "decay on all": (lambda p: change(p, ops.Step, no_decay=()), "update", "decay also on biases"),
    "no decay": (lambda p: change(p, ops.Step, weight_decay=0.0), "update", "fits no decay"),
    "coupled decay": (
        lambda p: change(p, ops.Step, optimizer="adam"),
        "update",
        "decay added to the gradients",
    ),
    "no warm-up": (lambda p: change(p, ops.Schedule, warmup_steps=0), "update", ""),
    "warm-up off by one": (lambda p: change(p, ops.Schedule, warmup_steps=5), "update", ""),
    "tick on skips": (lambda p: change(p, ops.Schedule, tick="attempt"), "update", ""),
    "no clip": (lambda p: change(p, ops.Clip, mode="none"), "applied gradients", ""),
    "clip x 2": (lambda p: change(p, ops.Clip, limit=0.7), "applied gradients", ""),
    "clip of each": (lambda p: change(p, ops.Clip, mode="per_param_norm"), "applied gradients", ""),
    "clip by value": (lambda p: change(p, ops.Clip, mode="value"), "applied gradients", ""),
    "half sums": (lambda p: change(p, ops.Accumulate, dtype="float16"), "applied gradients", ""),
    "no unscaling": (lambda p: without(p, ops.Unscale), "gradient norm", ""),
    "no skip": (lambda p: without(p, ops.CheckFinite), "applied gradients", "not finite"),
    "gradients not cleared": (lambda p: without(p, ops.Zero), "applied gradients", ""),
    "no division": (lambda p: without(p, ops.Normalize), "loss factor", ""),
    "divided by micro-batches": (
        lambda p: change(p, ops.Normalize, unit="microbatch"),
        "loss factor",
        "",
    ),
    "tail divided by a full window": (
        lambda p: change(p, ops.Normalize, renormalize=False),
        "loss factor",
        "window 2",
    ),
    "no scaling": (lambda p: without(p, ops.Scale), "loss factor", ""),
}


@pytest.mark.parametrize("mistake", OTHER_PLANS)
def test_other_plans_are_found(mistake: str) -> None:
    spoil, name, words = OTHER_PLANS[mistake]
    observed = record(RECIPE, plan=spoil(PLAN), overflow=(1,))
    checks = by_name(replay_run(RECIPE, observed))
    assert checks[name].result == "fail", checks
    assert words in checks[name].wording


def clip_before_unscale(op: ops.Op, attempt: Attempt) -> None:
    if isinstance(op, ops.Unscale):
        total = np.sqrt(sum(np.sum(g * g) for g in attempt.sums[0].values()))
        attempt.each_sum(lambda g: g * np.float32(min(1.0, 0.35 / total)))


def tail_by_its_own_count(op: ops.Op, attempt: Attempt) -> None:
    """Each loss divided by the rows of its own micro-batch and the number of micro-batches."""
    if isinstance(op, ops.Normalize):
        assert attempt.micro is not None
        attempt.rows = attempt.micro.work.rows * attempt.n_micro


def last_dropped(op: ops.Op, attempt: Attempt) -> None:
    if isinstance(op, ops.Accumulate) and len(attempt.sums[0]):
        assert attempt.micro is not None
        if attempt.micro.work.rows == 2:
            attempt.micro.gradients = {n: 0 * g for n, g in (attempt.micro.gradients or {}).items()}


def stale_moments(op: ops.Op, attempt: Attempt) -> None:
    """Moments are reset in window 2."""
    if isinstance(op, ops.Step) and attempt.updates == 2:
        attempt.moments = {
            slot: {n: np.zeros_like(a) for n, a in tensors.items()}
            for slot, tensors in attempt.moments.items()
        }


def clears_every_micro_batch(op: ops.Op, attempt: Attempt) -> None:
    if isinstance(op, ops.Accumulate):
        attempt.sums = [{}]


HOOKS = {
    "clip before unscale": (clip_before_unscale, "applied gradients"),
    "tail divided by its own count": (tail_by_its_own_count, "loss factor"),
    "last micro-batch dropped": (last_dropped, "applied gradients"),
    "moments lost": (stale_moments, "update"),
    "cleared every micro-batch": (clears_every_micro_batch, "applied gradients"),
}


@pytest.mark.parametrize("mistake", HOOKS)
def test_mistakes_between_operations_are_found(mistake: str) -> None:
    hook, name = HOOKS[mistake]
    assert results(replay_run(RECIPE, record(RECIPE, before_op=hook)))[name] == "fail"


def half_weights(number: int, parameters: Arrays) -> None:
    for name, array in parameters.items():
        parameters[name] = array.astype(np.float16).astype(np.float32)


def swapped(number: int, parameters: Arrays) -> None:
    """Two tensors of one shape change places."""
    first, other = (f"bert.encoder.layer.0.attention.self.{n}.weight" for n in ("query", "key"))
    parameters[first], parameters[other] = parameters[other], parameters[first]


def bump(number: int, parameters: Arrays) -> None:
    parameters["classifier.bias"] = parameters["classifier.bias"] + np.float32(1e-4)


@pytest.mark.parametrize("spoil", [half_weights, swapped, bump])
def test_weights_that_do_not_follow_the_update_are_found(
    spoil: Callable[[int, Arrays], None],
) -> None:
    check = by_name(replay_run(RECIPE, record(RECIPE, after_window=spoil)))["update"]
    assert check.result == "fail"
    if spoil is bump:
        assert check.window == 0
        assert "classifier.bias" in check.wording


def test_a_skipped_window_must_leave_the_weights_alone() -> None:
    observed = record(RECIPE, overflow=(1,))
    after = dict(observed.windows[1].after)
    after["classifier.bias"] = after["classifier.bias"] * np.float32(1.001)
    check = by_name(replay_run(RECIPE, changed(observed, 1, after=after)))["update"]
    assert (check.result, check.window) == ("fail", 1)
    assert "skipped" in check.wording


def test_weights_must_not_change_between_windows() -> None:
    observed = record(RECIPE)
    before = dict(observed.windows[2].before)
    before["classifier.bias"] = before["classifier.bias"] + np.float32(1e-3)
    check = by_name(replay_run(RECIPE, changed(observed, 2, before=before)))["update"]
    assert (check.result, check.window) == ("fail", 2)
    assert "those after the previous window" in check.wording


def test_a_weight_without_gradient_may_stay_but_not_move() -> None:
    observed = record(RECIPE)
    name = "bert.pooler.dense.bias"
    windows = []
    for window in observed.windows:
        start = observed.windows[0].before[name]
        changes: dict[str, Any] = {
            kind: {n: a for n, a in getattr(window, kind).items() if n != name}
            for kind in ("total", "first", "applied")
        }
        for kind in ("before", "after"):
            changes[kind] = {**getattr(window, kind), name: start}
        windows.append(replace(window, **changes))
    checks = replay_run(RECIPE, replace(observed, windows=tuple(windows)))
    assert results(checks)["update"] == "pass"
    moved = replace(windows[1], after={**windows[1].after, name: windows[1].before[name] + 1})
    windows[1:2] = [moved]
    windows[2:] = []
    check = by_name(replay_run(RECIPE, replace(observed, windows=tuple(windows))))["update"]
    assert check.result == "fail"
    assert "without a gradient" in check.wording


def test_a_window_skipped_for_nothing_is_found() -> None:
    observed = record(RECIPE)
    window = observed.windows[2]
    row = replace(window.row, skipped=True, updates=2)
    check = by_name(
        replay_run(RECIPE, changed(observed, 2, row=row, after=window.before, applied={}))
    )["applied gradients"]
    assert (check.result, check.window) == ("fail", 2)
    assert "although every gradient is finite" in check.wording


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_values_clipped_to_one_size_show_no_rounding_of_their_sum(dtype: str) -> None:
    recipe = stress(
        precision=f"{{mode: full, compute_dtype: {dtype}}}",
        loss_scaling="{mode: none}",
        accumulation="{steps: 3, dtype: compute}",
        clipping="{kind: value, max_value: 1.0e-30}",
    )
    assert "fail" not in results(replay_run(recipe, record(recipe, size=1e-3))).values()


@settings(max_examples=examples(60))
@given(recipe=recipes(), seed=st.integers(0, 9), size=st.sampled_from((1e-3, 1.0, 30.0)))
def test_no_faithful_run_of_any_recipe_is_accused(recipe: Recipe, seed: int, size: float) -> None:
    if recipe.processes > 1:
        return
    observed = record(recipe, seed=seed, size=size, overflow=(seed,))
    wrong = [check for check in replay_run(recipe, observed) if check.result == "fail"]
    assert wrong == []
