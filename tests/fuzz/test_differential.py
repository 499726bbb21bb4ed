"""A small fixed part of `make fuzz`: emitted steps against the reference, for drawn recipes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import tiers
from crosscast.targets.capability import Verdict
from crosscast_parity.toy.faults import Faults
from crosscast_parity.toy.model import make_toy
from crosscast_parity.toy.running import run_text
from crosscast_parity.toy.worker import WorkerFailure
from frameworks.emitted_script import tiny_recipe
from frameworks.subprocesses import require
from fuzz.cases import Case, cases
from fuzz.differ import Bench, Outcome, examine
from fuzz.example import EXAMPLE
from property_settings import examples

QUICK = {"torch": 8, "tensorflow": 5, "paddle": 8, "jax": 8}
EXAMPLES = {"torch": 60, "tensorflow": 150, "paddle": 60, "jax": 60}
"""Recipes that are drawn in the profile `same`, and in `fresh`: TensorFlow refuses the most."""
HIGHEST_SHARE_REFUSED = 0.1
TARGETS = [pytest.param(name, marks=[getattr(pytest.mark, name)]) for name in EXAMPLES]
DRAWN = tiers.cases(
    TARGETS,
    quick=["torch", "tensorflow", "paddle"],
    reason="drawn recipes in JAX, which compiles every step",
)


@pytest.fixture(scope="module", params=TARGETS)  # tests of one framework share its worker
def target(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    require(name)
    return name


def has_model(case: Case, target: str) -> bool:
    """Whether a recipe has a model for a target; one without says nothing about the target."""
    return target in getattr(case.recipe.model, "factory", (target,))


@pytest.fixture(scope="module")
def bench(target: str) -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.stop()


@pytest.mark.parametrize("target", DRAWN, indirect=True)
def test_emitted_steps_follow_the_reference(target: str, bench: Bench) -> None:
    """`make fuzz` shrinks what this finds."""
    outcomes: list[Outcome] = []

    @settings(
        max_examples=examples(QUICK[target], EXAMPLES[target]),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases().filter(lambda case: has_model(case, target)))
    def run(case: Case) -> None:
        (outcome,) = examine(bench, case, [target])
        assert outcome.problems == [], "\n".join(case.texts())
        refused = outcome.verdict is Verdict.UNSUPPORTED
        assert outcome.ran or refused or case.recipe.processes > 1, "\n".join(case.texts())
        outcomes.append(outcome)

    run()
    refused = sum(outcome.verdict is Verdict.UNSUPPORTED for outcome in outcomes)
    # Recipes of several processes are not run; they are up to a third of what is drawn.
    assert sum(outcome.ran for outcome in outcomes) > 0.6 * len(outcomes)
    assert refused <= max(2, HIGHEST_SHARE_REFUSED * len(outcomes))


@pytest.mark.parametrize(
    "target",
    tiers.cases(TARGETS, quick=["torch"], reason="steps of other frameworks that end"),
    indirect=True,
)
def test_a_step_that_ends_its_process_is_a_finding(target: str, bench: Bench) -> None:
    toy = make_toy(EXAMPLE.recipe, EXAMPLE.faults)
    worker = bench.worker(target)  # starts again when it is asked the next time
    with pytest.raises(WorkerFailure, match="ended with exit code 3"):
        run_text(worker, "import os\nos._exit(3)\n", toy)
    with pytest.raises(WorkerFailure, match="ZeroDivisionError"):
        run_text(worker, "1 / 0\n", toy)


FALLING = (
    {"name": "adafactor", "learning_rate": 1e-2, "beta2_decay": 0.0},
    {"name": "adafactor", "learning_rate": 1e-2, "beta2_decay": -1e-3},
    {"name": "adamw", "learning_rate": 1e-3, "betas": (1e-6, 1e-6)},
    {"name": "lion", "learning_rate": 1e-3, "betas": (1e-6, 1e-6)},
    {"name": "sgd", "learning_rate": 0.1, "momentum": 1e-6},
)


@pytest.mark.parametrize(
    "target",
    tiers.cases(TARGETS, quick=["torch", "paddle"], reason="surges in the steps of Keras"),
    indirect=True,
)
def test_moments_forget_gradients_that_were_a_thousand_times_larger(
    target: str, bench: Bench
) -> None:
    """Moved by a difference, they would keep a rounding of the old ones."""
    for optimizer in FALLING:
        recipe = tiny_recipe(
            optimizer=optimizer,
            schedule={"name": "constant", "total_steps": 10},
            ema={"decay": 1e-6},
        )
        surges = {window: -10 * window for window in range(4)}
        case = Case(recipe, Faults(0, ((2, 2),) * 4, surges))
        (outcome,) = examine(bench, case, [target])
        assert outcome.ran, outcome
        assert outcome.problems == [], optimizer


@pytest.mark.parametrize(
    "target",
    tiers.cases(TARGETS, quick=["paddle"], reason="corrections of moments in other frameworks"),
    indirect=True,
)
def test_decay_that_cancels_the_corrected_step_is_as_exact_as_the_correction(
    target: str, bench: Bench
) -> None:
    """Paddle's powers of the betas are products in float32: 1 - 0.999**3 may be 6e-5 of it off."""
    recipe = tiny_recipe(
        optimizer={
            "name": "lamb",
            "learning_rate": 3.2,
            "eps": 1e-6,
            "weight_decay": 1.0,
            "no_decay": ["layer_norm"],
        },
        schedule={"name": "constant", "total_steps": 10},
        batch={"micro_batch_size": 1, "global_batch_size": 1},
    )
    (outcome,) = examine(bench, Case(recipe, Faults(9231, ((1,),) * 3, {1: 20})), [target])
    assert outcome.ran, outcome
    assert outcome.problems == []
