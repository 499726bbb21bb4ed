"""Schedules read by computing the formula of a program's learning rate."""

from __future__ import annotations

import math

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.pysource.values.budget import NoValueError
from crosscast_reading.readers.python.curve_fit import Curve, fit
from crosscast_reading.readers.python.rate_curves import RateCurve, curve_of_function
from crosscast_torch.reading.schedules import READER
from reading_helpers.torch_programs import STEP, facts_of

HEAD = (
    "import math\nimport numpy as np\nimport torch\nfrom torch.optim.lr_scheduler import LambdaLR\n"
)


def curve_of(function: str, *, before: str = "") -> RateCurve | None:
    program, _ = read_program([Source("train.py", f"{HEAD}{before}f = {function}\n")])
    module = program.modules[0]
    node = module.tree.body[-1]
    return curve_of_function(node.value, module)  # type: ignore[attr-defined]


def said(text: str, *others: tuple[str, str]) -> dict[str, object]:
    """Return what is said of the schedule: values, `?` for what is known to be unknown."""
    found: dict[str, object] = {}
    for fact in facts_of(READER, HEAD + text, *others):
        value = fact.value if fact.known else "?"
        found.setdefault(fact.field.removeprefix("schedule."), value)
    return found


@pytest.mark.parametrize(
    ("function", "name", "warmup", "total", "end"),
    [
        ("lambda s: 1 - s / 1000", "linear", 0, 1000, 0),
        ("lambda s: max(0.1, 1 - s / 500)", "linear", 0, 450, 0.1),
        ("lambda s: 0.5 * (1 + math.cos(math.pi * s / 1000))", "cosine", 0, 1000, 0),
        ("lambda s: 0.1 + 0.45 * (1 + math.cos(math.pi * s / 300))", "cosine", 0, 300, 0.1),
        ("lambda s: s / 50 if s < 50 else max(0, (500 - s) / 450)", "linear", 50, 500, 0),
        ("lambda s: min(1, s / 50)", "constant", 50, None, 0),
        ("lambda s: s / 90 if s < 90 else (90 / s) ** 0.5", "inverse_sqrt", 90, None, 0),
        ("lambda s: np.interp([s], [0, 5, 24], [0, 1.0, 0])[0]", "linear", 5, 24, 0),
        ("lambda s: float(torch.clamp(torch.tensor(s / 40), max=1.0))", "constant", 40, None, 0),
    ],
)
def test_the_formula_of_a_recipe(
    function: str, name: str, warmup: int, total: int | None, end: float
) -> None:
    found = curve_of(function)
    assert found is not None
    assert (found.name, found.warmup, found.total, found.end) == (name, warmup, total, end)
    assert (found.hold, found.late, found.decay_from) == (False, False, "warmup_end")


def test_the_power_of_a_polynomial() -> None:
    found = curve_of("lambda s: (1 - s / 1000) ** 0.9")
    assert found is not None
    assert (found.name, found.power, found.total) == ("polynomial", 0.9, 1000)


def test_a_fall_that_counts_from_the_first_step() -> None:
    found = curve_of("lambda s: s / 50 if s < 50 else max(0.0, 1 - s / 500)")
    assert found is not None
    assert (found.name, found.warmup, found.decay_from) == ("linear", 50, "start")


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("lambda s: 0.5 * (1 + math.cos(math.pi * ((s / 100) % 1)))", "custom"),
        ("lambda s: min(s / 50, 1) * max(0.0, 1 - s / 500)", "custom"),
        ("lambda s: 0.95 ** s", "exponential"),
        ("lambda s: 0.1 ** (s // 30)", "step"),
        ("lambda s: 0.1 ** (s // 1000)", "step"),
        ("lambda s: 0.1 ** ((s >= 30) + (s >= 80))", "step_custom"),
        ("lambda s: 1.0 if s < 30 else 0.1", "step_custom"),
    ],
)
def test_what_no_recipe_has(function: str, name: str) -> None:
    found = curve_of(function)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "function",
    [
        "lambda s: helper(s)",
        "lambda s: table[s]",
        "lambda s: 1 - s / horizon",
        "lambda s: model(s).item()",
        "lambda s: 1.0 if plateau else 0.1",
        "lambda s: open('rates.txt').read()",
        "[*functions]",
    ],
)
def test_what_cannot_be_computed(function: str) -> None:
    assert curve_of(function) is None


def test_a_hold_between_warm_up_and_fall() -> None:
    found = curve_of("lambda s: min(1, s / 50, (500 - s) / 100)")
    assert found is not None
    assert found.hold
    text = "f = lambda s: min(1, s / 50, max(0, 500 - s) / 100)\nsched = LambdaLR(optimizer, f)\n"
    assert said(text + STEP)["name"] == "custom"


def test_a_rate_that_falls_long_after_all_numbers_is_not_constant() -> None:
    assert curve_of("lambda s: max(0.0, min(1.0, 2.0 - s * 0.001))") is None


def test_lengths_that_are_not_known_are_not_said() -> None:
    found = curve_of("lambda s: min(1.0, s / warmup_steps)")
    assert found is not None
    assert (found.name, found.warms, found.warmup) == ("constant", True, None)
    found = curve_of("lambda s: max(0.0, 1 - s / total_steps)")
    assert found is not None
    assert (found.name, found.total, found.end) == ("linear", None, 0)


def test_the_fit_of_values_that_end() -> None:
    rates = [0.1 * (1 + math.cos(math.pi * step / 80)) / 2 for step in range(80)]

    def rate(step: int) -> float:
        if step >= len(rates):
            raise NoValueError
        return rates[step]

    found = fit(rate, [80])
    assert found == Curve(name="cosine", peak=0.1, total=80, end=0.0)


@pytest.mark.parametrize("values", [[0.1], [math.nan] * 100, [-1.0] * 100, [math.inf] * 100])
def test_values_that_say_nothing(values: list[float]) -> None:
    def rate(step: int) -> float:
        if step >= len(values):
            raise NoValueError
        return values[step]

    assert fit(rate, []) is None


@pytest.mark.parametrize(
    ("rates", "limits", "expected"),
    [
        ([0.1] * 90, [80], Curve(name="constant", peak=0.1)),
        ([0.1] * 30 + [0.01] * 30 + [0.001] * 30, [30, 60], Curve(name="step", peak=0.1)),
        ([0.1] * 40 + [0.1 - 0.0025 * step for step in range(40)], [40, 80], "linear"),
        ([0.1 - 1e-5 * step for step in range(9000)], [], Curve(name="custom", peak=0.1)),
        ([0.1, 0.05] + [0.0] * 99, [2], Curve(name="step_custom", peak=0.1)),
        (
            [0.05 + 0.05 * math.cos(math.pi * step / 100) for step in range(80)],
            [100],
            Curve(name="custom", peak=0.1),
        ),
    ],
)
def test_other_fits_of_values_that_end(
    rates: list[float], limits: list[int], expected: Curve | str
) -> None:
    def rate(step: int) -> float:
        if step >= len(rates):
            raise NoValueError
        return rates[step]

    found = fit(rate, limits)
    assert found == expected or (found is not None and (found.name, found.hold) == (expected, 40))


def test_a_rate_that_falls_too_slowly_for_steps_has_none() -> None:
    """No fall between two samples is larger than what counts as equal, their sum is."""
    found = fit(lambda step: 1 - 1.235e-9 * step - 1.34e-13 * step**3, [])
    assert found is not None
    assert found.name == "custom"
