"""The stand-in for apex against the formulas of apex, computed here in float64."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch
FIRST = 2.0**16
START = ([0.5, -1.0, 2.0], [1.5, 0.25])
GRADIENTS = (
    ([0.3, -0.2, 0.1], [0.4, 0.0]),
    ([3.0, 1.0, -2.0], [0.5, 0.5]),
    ([-0.1, 0.2, 0.3], [-0.2, 0.6]),
)
Vector = list[float]


@pytest.fixture(scope="module")
def seen() -> Any:
    given = json.dumps({"start": START, "gradients": GRADIENTS})
    return run_python(Path(__file__).with_name("run_apex_stand_in.py"), "torch", given)


def moments(
    clipped: list[tuple[Vector, Vector]], *, tensor: int, corrected: bool = True
) -> Iterator[tuple[Vector, Vector]]:
    """Yield what Adam makes of the gradients of one tensor: both moments of every step."""
    first = [0.0] * len(START[tensor])
    second = list(first)
    for step, pair in enumerate(clipped, 1):
        first = [0.9 * m + 0.1 * g for m, g in zip(first, pair[tensor], strict=True)]
        second = [0.999 * v + 0.001 * g * g for v, g in zip(second, pair[tensor], strict=True)]
        one, two = (1 - 0.9**step, 1 - 0.999**step) if corrected else (1.0, 1.0)
        yield [m / one for m in first], [v / two for v in second]


def norm(values: Vector) -> float:
    return math.sqrt(sum(value * value for value in values))


def adam(tensor: int, *, decay: float, corrected: bool = True) -> Vector:
    weights = list(START[tensor])
    for first, second in moments(list(GRADIENTS), tensor=tensor, corrected=corrected):
        moved = [m / (math.sqrt(v) + 1e-8) for m, v in zip(first, second, strict=True)]
        weights = [w - 0.01 * (s + decay * w) for w, s in zip(weights, moved, strict=True)]
    return weights


def adam_l2(tensor: int, decay: float) -> Vector:
    weights, first, second = list(START[tensor]), [0.0] * 3, [0.0] * 3
    for step, pair in enumerate(GRADIENTS, 1):
        for n, gradient in enumerate(pair[tensor]):
            whole = gradient + decay * weights[n]
            first[n] = 0.9 * first[n] + 0.1 * whole
            second[n] = 0.999 * second[n] + 0.001 * whole * whole
            root = math.sqrt(second[n] / (1 - 0.999**step)) + 1e-8
            weights[n] -= 0.01 * first[n] / (1 - 0.9**step) / root
    return weights


def lamb(tensor: int, *, bound: float = 1.0, decay: float, always: bool = False) -> Vector:
    clipped = []
    for pair in GRADIENTS:
        factor = max(1.0, norm([*pair[0], *pair[1]]) / bound)
        clipped.append(tuple([g / factor for g in values] for values in pair))
    weights = list(START[tensor])
    for first, second in moments(clipped, tensor=tensor):  # type: ignore[arg-type]
        moved = [
            m / (math.sqrt(v) + 1e-6) + decay * w
            for m, v, w in zip(first, second, weights, strict=True)
        ]
        ratio = norm(weights) / norm(moved) if decay or always else 1.0
        weights = [w - 0.01 * ratio * s for w, s in zip(weights, moved, strict=True)]
    return weights


def sgd(tensor: int, decay: float) -> Vector:
    weights = list(START[tensor])
    for n in range(len(weights)):
        buffer = None
        for pair in GRADIENTS:
            whole = pair[tensor][n] + decay * weights[n]
            buffer = whole if buffer is None else 0.9 * buffer + whole
            weights[n] -= 0.1 * (whole + 0.9 * buffer)
    return weights


def larc(tensor: int, trust: float, *, clip: bool) -> Vector:
    weights = list(START[tensor])
    for pair in GRADIENTS:
        gradient = pair[tensor]
        size, slope = norm(weights), norm(gradient)
        ratio = trust * size / (slope + 0.1 * size + 1e-8)
        ratio = min(ratio / 0.5, 1.0) if clip else ratio
        moved = [g + 0.1 * w for g, w in zip(gradient, weights, strict=True)]
        weights = [w - 0.5 * ratio * m for w, m in zip(weights, moved, strict=True)]
    return weights


EXPECTED = {
    "adam": [adam(0, decay=0.1), adam(1, decay=0.0)],
    "adam of L2": [adam_l2(0, 0.1), adam_l2(1, 0.0)],
    "adam without correction": [adam(n, decay=0.0, corrected=False) for n in (0, 1)],
    "lamb": [lamb(0, decay=0.01), lamb(1, decay=0.0)],
    "lamb of another bound": [lamb(0, bound=0.25, decay=0.01), lamb(1, bound=0.25, decay=0.0)],
    "lamb for all": [lamb(0, decay=0.01), lamb(1, decay=0.0, always=True)],
    "larc": [larc(n, 0.02, clip=True) for n in (0, 1)],
    "larc without clipping": [larc(n, 0.1, clip=False) for n in (0, 1)],
    "sgd": [sgd(0, 0.1), sgd(1, 0.0)],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_optimizers_follow_the_formulas(seen: Any, name: str) -> None:
    for found, wanted in zip(seen[name], EXPECTED[name], strict=True):
        assert found == pytest.approx(wanted, rel=2e-6, abs=1e-7)


@pytest.mark.parametrize("name", ["O1", "O2"])
def test_a_dynamic_scale(seen: Any, name: str) -> None:
    found = seen[name]
    assert found["loss"] == [FIRST, FIRST, None, FIRST / 2]
    assert found["scale"] == [FIRST, FIRST / 2, FIRST / 2]
    assert found["grad"] == [4.0, None, 1.0]  # unscaled, of both micro-batches
    assert found["weight"] == [1.0, 1.0, 0.75]  # the second update is skipped


def test_a_static_scale_skips_nothing(seen: Any) -> None:
    found = seen["O2, static"]
    assert found["loss"] == [128.0, 128.0, None, None]
    assert found["scale"] == [128.0] * 3
    assert found["grad"] == [4.0, None, 1.0]
    assert not math.isfinite(found["weight"][1])


def test_without_a_scale(seen: Any) -> None:
    assert seen["O0"]["loss"] == [1.0, 1.0, None, None]
    assert seen["off"]["loss"] == [1.0, 1.0, None, None]
    assert seen["off"]["grad"][0] == 4.0


def test_delayed_unscaling(seen: Any) -> None:
    assert seen["delayed"] == [8.0, 2.0]


def test_the_scale_grows_after_two_thousand_clean_passes_to_its_bound(seen: Any) -> None:
    assert seen["grown"] == [FIRST, 2 * FIRST, 2 * FIRST]


def test_what_is_given_comes_back_in_its_form(seen: Any) -> None:
    assert seen["forms"] == ["Linear", "list", "list"]


def test_what_apex_refuses_is_refused(seen: Any) -> None:
    assert seen["refused"] == ["RuntimeError", "TypeError", "RuntimeError"]
