"""The solver against trying everything, on estimates that are easy to see through."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.fit.candidates import candidates, changed_recipe, changes, divisors
from crosscast.fit.cost import n_half, window_cost
from crosscast.fit.devices import DEVICES, GIB, MIB, find_device
from crosscast.fit.explanations import cannot_fit, not_native
from crosscast.fit.solver import Outcome, Request, cost_of, rank, solve
from crosscast.memory.records import Component, Estimate
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import Recipe
from property_settings import examples
from recipe_strategies import recipes
from recipe_texts import recipe_of

HALF = ("float16", "bfloat16")


def toy(recipe: Recipe, *, fixed: int = 100, row: int = 10, margin: int = 1) -> Estimate:
    """Fixed bytes, and bytes a row: half as many in half, a fifth if computed again."""
    share = row * recipe.batch.micro_batch_size * 10
    share //= 2 if recipe.half else 1
    share //= 5 if recipe.activation_checkpointing else 1
    parts = (
        Component("parameters", fixed, "float32", ""),
        Component("activations", share, "float32", ""),
    )
    return Estimate("toy", "cuda", parts, fixed + share, "backward", margin, 7, 0, fixed)


def fine(recipe: Recipe) -> None:
    """A target that can express everything."""


def run(recipe: Recipe, limit: int, **request: object) -> Outcome:
    question = replace(Request(limit=limit), **request)  # type: ignore[arg-type]
    return solve(recipe, "toy", question, estimate=toy, check=fine)


# against trying everything


@settings(max_examples=examples(60))
@given(recipes(), st.integers(0, 600), st.booleans(), st.sampled_from((None, "T4", "H100")))
def test_answers_are_those_of_trying_everything(
    recipe: Recipe, limit: int, precision: bool, name: str | None
) -> None:
    device = find_device(name) if name else None
    native = device.half_types if device else HALF
    fitting = []
    for candidate in candidates(recipe, native=native, precision=precision):
        other = changed_recipe(recipe, candidate)
        if other is not None and toy(other).total <= limit:
            fitting.append(candidate)
    fitting.sort(key=partial(rank, recipe, device))
    found = run(recipe, limit, device=device, precision=precision, most=3)
    assert [answer.candidate for answer in found.answers] == fitting[:3]
    for answer in found.answers:
        assert answer.estimate.total <= limit
        assert answer.recipe.batch.global_batch_size == recipe.batch.global_batch_size
        assert answer.recipe.processes == recipe.processes
        kept = ("model", "data", "optimizer", "schedule", "clipping", "ema", "seed", "name")
        assert all(getattr(answer.recipe, part) == getattr(recipe, part) for part in kept)
        if not precision:
            assert answer.recipe.precision == recipe.precision
            assert answer.recipe.loss_scaling == recipe.loss_scaling
        assert not answer.recipe.half or answer.recipe.half in native
    if not found.answers and found.smallest:
        every = (
            changed_recipe(recipe, change)
            for change in candidates(recipe, native=native, precision=precision)
        )
        assert found.smallest.estimate.total == min(toy(built).total for built in every if built)


@given(st.integers(1, 5000))
def test_divisors(number: int) -> None:
    assert divisors(number) == [d for d in range(1, number + 1) if number % d == 0]


def test_a_global_batch_as_large_as_it_may_be_takes_no_time() -> None:
    assert len(divisors(2**31 - 1)) == 2
    assert len(divisors(2**30)) == 31


# boundaries and order


def test_the_limit_itself_still_fits() -> None:
    recipe = recipe_of(batch="{micro_batch_size: 4}", accumulation="{steps: 2}")
    need = toy(recipe).total
    assert any(
        answer.candidate.micro_batch_size == 4 and not answer.candidate.checkpointing
        for answer in run(recipe, need, most=50).answers
    )
    assert not any(
        answer.candidate.micro_batch_size == 4 and not answer.candidate.checkpointing
        for answer in run(recipe, need - 1, most=50).answers
    )


def test_the_margin_counts() -> None:
    recipe = recipe_of(batch="{micro_batch_size: 1}", accumulation="{steps: 1}")
    with_margin = partial(toy, margin=50)
    least = toy(recipe.model_copy(update={"activation_checkpointing": True})).peak_bytes
    question = Request(limit=least + 49)
    assert not solve(recipe, "toy", question, estimate=with_margin, check=fine).answers
    question = Request(limit=least + 50)
    assert solve(recipe, "toy", question, estimate=with_margin, check=fine).answers


def test_larger_micro_batches_come_first_and_recomputation_later() -> None:
    recipe = recipe_of(batch="{micro_batch_size: 8}", accumulation="{steps: 2}")
    found = run(recipe, 10**6, most=50).answers
    order = [
        (answer.candidate.micro_batch_size, answer.candidate.checkpointing) for answer in found
    ]
    assert order[:3] == [(16, False), (8, False), (4, False)]
    for checkpointing in (False, True):
        sizes = [size for size, recomputed in order if recomputed is checkpointing]
        assert sizes == [16, 8, 4, 2, 1]
    costs = [answer.cost for answer in found]
    assert costs == sorted(costs)


def test_what_keeps_the_meaning_comes_before_what_is_cheaper() -> None:
    recipe = recipe_of(
        data="{source: npz, train: a, eval: b, sequence_length: 32}",
        batch="{micro_batch_size: 4}",
        accumulation="{steps: 4, normalize_by: microbatch}",
    )
    found = [answer.candidate.meaning for answer in run(recipe, 10**6, most=50).answers]
    assert found == ["same"] * 2 + ["differs"] * 8


def test_what_a_target_refuses_is_left_out_and_told() -> None:
    recipe = recipe_of(batch="{micro_batch_size: 4}", accumulation="{steps: 2}")

    def check(variant: Recipe) -> None:
        if variant.activation_checkpointing:
            raise DiagnosticError(Diagnostic(code="CC300", message="no"))

    found = solve(recipe, "toy", Request(limit=10**6, most=50), estimate=toy, check=check)
    assert not any(answer.candidate.checkpointing for answer in found.answers)
    assert [diagnostic.code for diagnostic in found.refused] == ["CC300"]
    nothing = solve(recipe, "toy", Request(limit=150), estimate=toy, check=check)
    assert not nothing.answers
    assert nothing.smallest is not None
    assert not nothing.smallest.candidate.checkpointing


def test_a_recipe_that_the_target_refuses_has_no_answers() -> None:
    def check(recipe: Recipe) -> None:
        raise DiagnosticError(Diagnostic(code="CC300", message="no"))

    with pytest.raises(DiagnosticError, match="CC300"):
        solve(recipe_of(), "toy", Request(limit=10), estimate=toy, check=check)


# precision


def test_precision_changes_only_where_it_is_allowed() -> None:
    recipe = recipe_of()
    kinds = {(candidate.mode, candidate.compute_dtype) for candidate in candidates(recipe)}
    assert kinds == {("none", "float32")}
    more = {
        (candidate.mode, candidate.compute_dtype)
        for candidate in candidates(recipe, precision=True)
    }
    assert more == kinds | {("mixed", "bfloat16"), ("mixed", "float16")}
    old = {
        candidate.compute_dtype
        for candidate in candidates(recipe, native=("float16",), precision=True)
    }
    assert old == {"float32", "float16"}


def test_float16_brings_its_loss_scale() -> None:
    recipe = recipe_of()
    halves = [
        candidate
        for candidate in candidates(recipe, precision=True)
        if candidate.compute_dtype == "float16"
    ]
    changed = changed_recipe(recipe, halves[0])
    assert changed is not None
    assert changed.loss_scaling.mode == "dynamic"
    assert changes(recipe, halves[0])["loss_scaling.mode"] == "dynamic"


def test_a_half_type_that_the_device_lacks() -> None:
    recipe = recipe_of(precision="{mode: mixed, compute_dtype: bfloat16}")
    request = Request(limit=10**6, device=find_device("V100"))
    refused = not_native(recipe, request)
    assert refused is not None
    assert refused.code == "CC468"
    assert not run(recipe, 10**6, device=request.device).answers
    assert not_native(recipe, Request(limit=1, device=find_device("A100-40"))) is None
    assert not_native(recipe_of(), request) is None
    allowed = run(recipe, 10**6, device=request.device, precision=True).answers
    assert {variation.recipe.half for variation in allowed} == {"float16"}
    assert {variation.recipe.loss_scaling.mode for variation in allowed} == {"dynamic"}


# reasons


def reason(limit: int, fixed: int = 100) -> str:
    request = Request(limit=limit)
    found = solve(recipe_of(), "toy", request, estimate=partial(toy, fixed=fixed), check=fine)
    assert not found.answers
    diagnostic = cannot_fit(found, request, with_precision=False)
    assert diagnostic.code == "CC460"
    return diagnostic.message


def test_why_it_cannot_fit() -> None:
    assert "parameters (100 B) alone exceeds the limit of 99 B" in reason(99)
    assert "activations (20 B) alone" in reason(10, fixed=1)
    both = reason(10, fixed=100)
    assert "parameters (100 B), activations (20 B) alone exceed the limit of 10 B" in both
    together = reason(110)
    assert "micro-batches of 1 and activation checkpointing still need 121 B" in together
    assert "parameters 100 B, activations 20 B, margin 1 B" in together
    assert "exceeded by 11 B" in together


def test_what_would_help() -> None:
    request = Request(limit=GIB)
    estimate = partial(toy, fixed=14 * GIB)
    found = solve(recipe_of(), "toy", request, estimate=estimate, check=fine)
    hint = cannot_fit(found, request, with_precision=True).hint
    assert hint.startswith("it fits with --allow precision")
    assert "it would fit on a V100 (15.0 GiB usable)" in hint  # not on a T4, which has 14 less
    assert "crosscast does not support it" in hint


# cost and devices


def test_recomputation_costs_a_third_more_and_small_micro_batches_too() -> None:
    device = find_device("A100-40")

    def cost(**change: object) -> float:
        settings = {"steps": 4, "tokens": 1024, "checkpointing": False, "dtype": "float32"}
        return window_cost(**(settings | change), device=device)  # type: ignore[arg-type]

    assert cost(checkpointing=True) == pytest.approx(cost() * 4 / 3)
    tokens = n_half(device, "float32")
    assert tokens == pytest.approx(2 * 19.5e12 / 1555e9)
    split = cost(steps=8, tokens=512) / cost()
    assert split == pytest.approx((512 + tokens) / (1024 + tokens) * 2)
    assert split > 1
    large = {"steps": 1, "tokens": 10**9}
    assert cost(**large) / cost(**large, dtype="float16") == pytest.approx(312 / 19.5, rel=1e-3)


def test_costs_of_a_recipe_count_its_tokens() -> None:
    recipe = recipe_of(data="{source: synthetic, sequence_length: 64}")
    candidate = next(iter(candidates(recipe)))
    device = find_device("T4")
    tokens = candidate.micro_batch_size * 64
    wanted = window_cost(
        steps=candidate.steps, tokens=tokens, checkpointing=False, dtype="float32", device=device
    )
    assert cost_of(recipe, candidate, device) == wanted


def test_the_table_of_devices() -> None:
    names = [device.name for device in DEVICES]
    assert len(set(map(str.lower, names))) == len(names)
    for device in DEVICES:
        assert device.source
        assert "float16" in device.half_types
        assert device.memory_gb * GIB * 0.85 < device.usable_bytes < device.memory_gb * GIB
        assert device.reported_mib * MIB <= device.memory_gb * GIB
        assert device.half_tflops > device.float32_tflops > 0
    lacking = {device.name for device in DEVICES if "bfloat16" not in device.half_types}
    assert lacking == {"T4", "V100", "V100-32"}
    assert find_device(" a100-40 ").memory_gb == 40
    assert find_device("T4").usable_bytes == 14 * GIB
    assert find_device("H200").usable_bytes < 139.5 * GIB  # not 141 * 2**30 bytes
    with pytest.raises(DiagnosticError, match="CC462"):
        find_device("T5000")
