"""Differences that cannot change training: they are named, and models are trained all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crosscast.api.parity_result import Parity
from crosscast.api.recipes import loaded
from crosscast.weights.document import WeightsMap
from crosscast_parity.compare.main_end import end_of_main
from crosscast_parity.judge.records import Pair, ParityReport
from crosscast_parity.levels.envelope import Envelope
from crosscast_parity.levels.statistics import check_statistics
from crosscast_parity.modules.command import Result
from crosscast_parity.modules.comparison import Comparison
from crosscast_parity.modules.differences import Difference
from crosscast_parity.modules.judgement import Judgement
from crosscast_parity.modules.outputs import page_of, suites_of, verdict_badge
from crosscast_parity.modules.report import as_json, not_tested, text_of
from crosscast_parity.recordings.status import Evaluation
from parity_reports import broken, equivalent

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpt" / "recipe.yaml"
RNG = np.random.default_rng(15)
START = RNG.uniform(0.5, 2, 32)
ADDED = RNG.uniform(0.5, 2, 32)
KEPT = 0.9**4


def judged(*kinds: tuple[str, str], **comparison: float) -> Result:
    """Return a comparison that has found differences: what differs, and its kind."""
    far: dict[str, Any] = {"outputs": 0.0, "weights": 0.0, **comparison}
    found = Comparison(first="torch", other="paddle", ours=(), theirs=(), compared=(), **far)
    differences = tuple(
        Difference(what=what, module="norm", counterpart="norm", kind=kind, words="")
        for what, kind in kinds
    )
    judgement = Judgement(comparison=found, output=None, gradient=None, differences=differences)
    known = WeightsMap(frameworks=("torch", "paddle"), entries=())
    return Result(
        known=known, matched=True, left={}, state=True, metrics=True, judgements=[judgement]
    )


HARMLESS = (("initial values", "initialisation"), ("state", "running variance"))


def test_differences_beside_training_are_named_and_training_is_compared() -> None:
    result = judged(*HARMLESS)
    assert not result.same
    assert result.trains_alike
    assert result.beside_training == ["initialisation", "running variance"]
    assert not_tested(result) == []
    text = "\n".join(text_of(result))
    assert "does not change training (initialisation, running variance)" in text
    told = as_json(result)
    assert (told["same"], told["trains_alike"]) == (False, True)


@pytest.mark.parametrize(
    "result",
    [
        judged(*HARMLESS, ("state", "momentum of BatchNorm")),
        judged(*HARMLESS, ("setting", "dropout")),
        judged(*HARMLESS, ("state", "")),
        judged(*HARMLESS, outputs=1e-2),
        judged(*HARMLESS, weights=0.5),
    ],
    ids=["momentum", "dropout", "unknown statistics", "outputs", "gradients"],
)
def test_any_other_difference_leaves_nothing_to_train(result: Result) -> None:
    assert not result.trains_alike
    assert result.beside_training == []
    assert [level for level, _ in not_tested(result)] == ["levels"]


DIFFER = "the models differ in initialisation, running variance"
IN_PART = "EQUIVALENT, not all tested"


def whole(report: ParityReport) -> tuple[Pair, ...]:
    """Return the pairs of a report as if all checks had been made."""
    return tuple(
        replace(pair, checks=tuple(replace(check, result="pass") for check in pair.checks))
        for pair in report.pairs
    )


def test_the_badge_is_that_of_the_training_and_names_the_difference() -> None:
    complete = replace(equivalent(), pairs=whole(equivalent()), left_out=(), exercise=())
    messages = {"ERROR": broken(), IN_PART: equivalent(), "EQUIVALENT": complete}
    for message, report in messages.items():
        alone = verdict_badge(report, None)
        badge = verdict_badge(report, judged(*HARMLESS))
        assert (badge.message, badge.color) == (message, alone.color)
        assert badge.title == f"{alone.title}; {DIFFER}"
    assert verdict_badge(complete, replace(judged(*HARMLESS), state=False)).message == IN_PART


def test_the_suite_of_the_models_passes_and_names_the_difference() -> None:
    (suite,) = suites_of(judged(*HARMLESS))
    assert suite.find("testcase/failure") is None
    text = suite.findtext("testcase/system-out") or ""
    assert "torch and paddle: modules SAME but for initialisation, running variance" in text
    (suite, _) = suites_of(judged(*HARMLESS, outputs=1e-2))
    assert suite.find("testcase/failure") is not None


@pytest.mark.parametrize(
    ("models", "report", "code"),
    [
        (judged(*HARMLESS), equivalent(), 0),
        (judged(*HARMLESS), broken(), 1),
        (judged(*HARMLESS, ("setting", "dropout")), None, 1),
        (judged(*HARMLESS), None, 130),
    ],
    ids=["trained alike", "trained unlike", "not trained", "interrupted"],
)
def test_the_exit_code_is_that_of_the_training(
    models: Result, report: ParityReport | None, code: int
) -> None:
    result = Parity(recipe=loaded(EXAMPLE), models=models, report=report)
    assert result.exit_code == code
    if report is not None:
        assert result.summary.endswith(DIFFER)
        assert DIFFER in str(result).splitlines()[1]


def test_the_page_shows_models_that_differ() -> None:
    page = page_of(None, judged(("setting", "dropout")), "own <recipe>")
    assert "Parity of own &lt;recipe&gt;" in page
    assert "Models of torch and paddle" in page
    assert "everything that trains" in page
    both = page_of(broken(), judged(*HARMLESS), "own")
    assert "Models of torch and paddle" in both
    assert page_of(None, judged(*HARMLESS), "own") == ""  # is trained, and has a report then


def statistics(factor: float) -> dict[str, np.ndarray]:
    return {"variance": KEPT * START + (1 - KEPT) * factor * ADDED}


def checked(ours: dict[str, np.ndarray], apart: tuple[str, ...], rows: int = 2) -> str:
    reference, start = statistics(1.0), {"variance": START}
    shifted = {"variance": reference["variance"] * (1 + 1e-9)}
    return check_statistics(ours, reference, [shifted], start, 3, apart=apart, fewest=rows).result


@pytest.mark.parametrize("count", [2, 16, 1024])
def test_running_variances_are_compared_without_the_factor(count: int) -> None:
    ours = statistics((count - 1) / count)
    assert checked(ours, ()) == "fail"
    assert checked(ours, ("variance",)) == "pass"
    assert checked(ours, ("variance",), rows=count) == "pass"


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 1.9])
def test_a_factor_of_fewer_values_than_a_micro_batch_has_is_a_difference(factor: float) -> None:
    assert checked(statistics(factor), ("variance",)) == "pass"
    assert checked(statistics(factor), ("variance",), rows=16) == "fail"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_variances_that_are_not_finite_differ(value: float) -> None:
    assert checked({"variance": np.full(32, value)}, ("variance",)) == "fail"


@pytest.mark.parametrize("wrong", ["another momentum", "never moved", "other values", "no values"])
def test_a_factor_does_not_hide_other_differences(wrong: str) -> None:
    ours = {
        "another momentum": {"variance": 0.8**4 * START + (1 - 0.8**4) * ADDED * 1023 / 1024},
        "never moved": {"variance": START},
        "other values": {"variance": KEPT * START + (1 - KEPT) * RNG.uniform(0.5, 2, 32)},
        "no values": {},
    }[wrong]
    assert checked(ours, ("variance",)) == "fail"


def test_a_check_without_the_factor_says_so() -> None:
    reference, start = statistics(1.0), {"variance": START}
    check = check_statistics(
        statistics(0.999), reference, [reference], start, 3, apart=("variance",)
    )
    assert "without the factor n / (n - 1) of 1 running variances" in check.wording


def after_calls(*, unbiased: bool, calls: int = 48, seed: int = 0) -> dict[str, np.ndarray]:
    """Statistics of many batches, every eighth of them short; they end at the given call."""
    rng = np.random.default_rng(seed)
    found = {"mean": np.zeros(16), "variance": np.ones(16)}
    for call in range(calls):
        n_values = 512 if call % 8 else 128
        variance = rng.uniform(1.2, 1.6, 16)
        factor = n_values / (n_values - 1) if unbiased else 1.0
        added = {"mean": rng.normal(size=16), "variance": variance * factor}
        found = {name: 0.9 * found[name] + 0.1 * added[name] for name in found}
    return found


@pytest.mark.parametrize("calls", [48, 45, 33, 30])
def test_statistics_of_many_batches_are_compared_without_the_factor(calls: int) -> None:
    """After so many nothing is left of the start, and short batches have another factor."""
    start = {"mean": np.zeros(16), "variance": np.ones(16)}
    for seed in range(8):
        reference = after_calls(unbiased=True, seed=seed)
        near = {name: array * (1 + 1e-5) for name, array in reference.items()}
        ours = after_calls(unbiased=False, calls=calls, seed=seed)
        check = check_statistics(ours, reference, [near], start, 23, "L2", apart=("variance",))
        assert (check.level, check.name) == ("L2", "running statistics")
        assert check.result == ("pass" if calls == 48 else "fail"), (seed, check.wording)
        assert calls == 48 or ": off by " in check.wording


@pytest.mark.parametrize(
    ("apart", "off", "result"),
    [((), 0.0, "pass"), ((), 1e-3, "fail"), (("v",), 1e-3, "not tested"), (("v",), 0.0, "pass")],
)
def test_an_evaluation_that_reads_other_variances_is_not_judged(
    apart: tuple[str, ...], off: float, result: str
) -> None:
    def run(loss: float) -> Any:
        status = SimpleNamespace(eval=Evaluation(loss=loss, accuracy=0.5))
        spec = SimpleNamespace(contestant="a", dtype="float32")
        return SimpleNamespace(
            run=SimpleNamespace(outcome=SimpleNamespace(status=status)), spec=spec
        )

    custom = SimpleNamespace(variances_apart=lambda *_: apart, statistics=())
    stage: Any = SimpleNamespace(custom=custom, frameworks={"a": "torch"}, twins=lambda _: {})
    envelope = Envelope((1e-6,) * 40, 40, 3)
    (check,) = end_of_main(stage, run(0.8 + off), run(0.8), envelope)
    assert (check.name, check.result) == ("final evaluation", result)
    assert result != "not tested" or "running variances that differ" in check.wording
