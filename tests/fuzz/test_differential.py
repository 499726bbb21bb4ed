"""A small fixed part of `make fuzz`: emitted steps against the reference, for drawn recipes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from crosscast.capability import Verdict
from frameworks.subprocesses import require
from fuzz.cases import Case, cases
from fuzz.differ import Bench, Outcome, examine, run_text
from fuzz.example import EXAMPLE
from fuzz.link import WorkerFailure
from fuzz.toy import make_toy

NO_FACTORY = "CC305"
"""Of a recipe whose own model has no factory for a target: drawn so, and nobody's inability."""
EXAMPLES = {"torch": 60, "tensorflow": 12, "paddle": 60}
HIGHEST_SHARE_REFUSED = 0.1


@pytest.fixture(
    params=[
        pytest.param(name, marks=[getattr(pytest.mark, name), pytest.mark.slow])
        for name in EXAMPLES
    ]
)
def target(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    require(name)
    return name


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.stop()


def test_emitted_steps_follow_the_reference(target: str, bench: Bench) -> None:
    """`make fuzz` shrinks what this finds."""
    outcomes: list[Outcome] = []

    @settings(
        max_examples=EXAMPLES[target],
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def run(case: Case) -> None:
        (outcome,) = examine(bench, case, [target])
        assert outcome.problems == [], "\n".join(case.texts())
        refused = outcome.verdict is Verdict.UNSUPPORTED
        assert outcome.ran or refused or case.recipe.processes > 1, "\n".join(case.texts())
        if outcome.codes != (NO_FACTORY,) or not refused:
            outcomes.append(outcome)

    run()
    refused = sum(one.verdict is Verdict.UNSUPPORTED for one in outcomes)
    assert sum(one.ran for one in outcomes) > 0.7 * len(outcomes)
    # Twelve recipes say little of a share; `make fuzz` measures it.
    assert refused <= max(2, HIGHEST_SHARE_REFUSED * len(outcomes))


def test_a_step_that_ends_its_process_is_a_finding(target: str, bench: Bench) -> None:
    toy = make_toy(EXAMPLE.recipe, EXAMPLE.faults)
    worker = bench.worker(target)
    with pytest.raises(WorkerFailure, match="ended with exit code 3"):
        run_text(worker, "import os\nos._exit(3)\n", toy)
    with pytest.raises(WorkerFailure, match="ZeroDivisionError"):
        run_text(worker, "1 / 0\n", toy)
