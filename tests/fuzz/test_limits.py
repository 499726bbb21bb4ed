"""Recipes with a number at the end of its values, on every framework against the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import tiers
from crosscast.emit.compiler import compile_recipe
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast.reference.interpreter import run
from crosscast.targets.backend import backend_names, find_target, load_backend
from crosscast.targets.capability import Verdict, judge
from crosscast_parity.inside.toy import NAMES
from crosscast_parity.toy.bounds import tensors
from crosscast_parity.toy.compare import Seen, compare
from crosscast_parity.toy.faults import Fault, Faults
from crosscast_parity.toy.model import ROLES, make_toy
from crosscast_parity.toy.running import of_step
from frameworks.subprocesses import require
from fuzz.cases import Case
from fuzz.differ import Bench, compare_text
from numeric_limits import limits, numeric_fields
from recipe_strategies import TARGETS

STEP = ("clipping", "ema", "loss_scaling", "optimizer", "schedule")
"""Sections that a step is made of: their numbers are tried in the steps of a toy."""
OTHERS = {
    "accumulation": "numbers of micro-batches",
    "batch": "numbers of rows",
    "data": "numbers of rows, and of what is in them",
    "distributed": "numbers of processes",
    "launch": "what a job asks for",
    "loss": "the toy has a loss of its own",
    "model": "the toy is another model",
    "seed": "any number has the same meaning",
}
"""Sections whose numbers are too large to run, or that a toy does not have: these are compiled."""
FIELDS = {str(field): field for field in numeric_fields(Recipe)}
QUICK = {
    "optimizer.eps.0[adafactor]",
    "optimizer.betas.1[adam]",
    "optimizer.betas.1[lamb]",
    "optimizer.betas.1[lion]",
    "ema.decay",
}
COLUMNS = (
    *("window", "n_micro", "rows", "tokens", "loss", "lr"),
    *("grad_norm", "scale", "skipped", "updates"),
)
CALM = Faults(3, ((2, 2),) * 4, {2: 9})
OVERFLOW = Faults(3, ((2, 2),) * 4, {2: 9}, (Fault(1, 1, "bias", float("inf")),))


def within_float32(case: Case) -> Case:
    """Return the case up to the window in which the reference itself leaves float32."""
    toy, plan = make_toy(case.recipe, case.faults), canonical_plan(case.recipe)
    with np.errstate(all="ignore"):
        windows = [toy.work(number) for number in range(len(toy.windows))]
        rows = run(plan, toy.parameters, windows, ROLES).rows
    finite = [all(np.isfinite(array).all() for array in tensors(row).values()) for row in rows]
    count = (*finite, False).index(False)
    assert count, "the first window leaves float32"
    faults = tuple(fault for fault in case.faults.faults if fault.window < count)
    return replace(
        case, faults=replace(case.faults, windows=case.faults.windows[:count], faults=faults)
    )


STEPS = [pytest.param(name, marks=[getattr(pytest.mark, name)]) for name in TARGETS]


@pytest.fixture(
    scope="module",
    params=tiers.cases(
        STEPS, quick=["torch", "paddle"], reason="steps of Keras; `make test` has test_steps"
    ),
)
def bench(request: pytest.FixtureRequest) -> Iterator[tuple[str, Bench]]:
    require(request.param)
    bench = Bench()
    yield request.param, bench
    bench.stop()


def test_every_number_is_tried_somewhere() -> None:
    assert {str(field.path[0]) for field in FIELDS.values()} == {*STEP, *OTHERS}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", ["optimizer.eps.0[adafactor]", "optimizer.learning_rate[sgd]"])
def test_what_is_not_finite_where_the_reference_is_differs(name: str, value: float) -> None:
    """In every window that is left to compare, at both ends."""
    for limit in limits(FIELDS[name]):
        case = within_float32(Case(limit.recipe, CALM))
        toy, plan = make_toy(case.recipe, case.faults), canonical_plan(case.recipe)
        windows = [toy.work(number) for number in range(len(toy.windows))]
        rows = run(plan, toy.parameters, windows, ROLES).rows
        told = [{name: getattr(row, name) for name in COLUMNS} for row in rows]
        for number in range(len(rows)):
            found = [{key: np.array(array) for key, array in tensors(row).items()} for row in rows]
            seen = Seen(told, [(None, None)] * len(rows), found, NAMES)
            assert compare(plan, toy, seen, "torch").problems == [], str(limit)
            found[number]["parameters/kernel"][0, 0] = value
            (problem,) = compare(plan, toy, seen, "torch").problems
            assert f"window {number}: parameters/kernel[0, 0] is {value}, expected" in problem


@pytest.mark.parametrize("name", backend_names())
def test_overrides_have_no_numbers(name: str) -> None:
    """If they get some, `limits` has to know where they are."""
    assert numeric_fields(load_backend(name).overrides) == []


@pytest.mark.parametrize(
    "name",
    tiers.cases(
        [name for name, field in FIELDS.items() if field.path[0] in STEP],
        quick=QUICK,
        reason="every number at both of its ends, in the steps of every framework",
    ),
)
def test_a_step_is_that_of_the_reference_at_both_ends(bench: tuple[str, Bench], name: str) -> None:
    target, workers = bench
    found = limits(FIELDS[name])
    assert len(found) >= 2, "no form in which the number has an effect"
    for limit in found:
        recipe = limit.recipe
        (step,) = compile_recipe(of_step(recipe), [target], form="step")
        case = within_float32(Case(recipe, OVERFLOW if recipe.scaling_on else CALM))
        text = step.files["step.py"].text
        report = compare_text(workers.worker(target), text, case)
        assert report.problems == [], str(limit)
        assert not report.beyond, str(limit)


@pytest.mark.parametrize(
    "name",
    tiers.cases(
        [name for name, field in FIELDS.items() if field.path[0] in OTHERS],
        quick=["seed", "model.dropout[bert]", "loss.class_weights.0[cross_entropy]"],
        reason="scripts with every other number at its ends",
    ),
)
def test_a_script_is_printed_at_both_ends(name: str) -> None:
    found = limits(FIELDS[name])
    assert len(found) >= 2, "no form in which the number has an effect"
    for limit in found:
        for target in TARGETS:
            rows = find_target(target).rows
            judged = judge(limit.recipe, rows)
            if any(each.row.verdict is Verdict.UNSUPPORTED for each in judged):
                continue
            (done,) = compile_recipe(limit.recipe, [target])
            assert done.plan == canonical_plan(limit.recipe), str(limit)
            for path, file in done.files.items():
                if path.endswith(".py"):
                    compile(file.text, path, "exec")
