"""Levels L1a and L1c on made-up observations: equal models pass, each deviation is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crosscast.plan.operations import Dtype
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.model import compare_models
from crosscast_parity.recordings.observations import Observation, ObservedWindow
from recipe_texts import recipe_of
from replay_fakes import record

FLOAT32 = recipe_of(accumulation="{steps: 3}")
HALF = recipe_of(
    accumulation="{steps: 3}",
    precision="{mode: mixed, compute_dtype: float16}",
    loss_scaling="{mode: dynamic, init_scale: 64}",
)
REFERENCE = record(FLOAT32)
KERNEL = "bert.encoder.layer.0.intermediate.dense.weight"


def compared(
    ours: Observation, reference: Observation = REFERENCE, dtype: Dtype = "float32"
) -> Mapping[str, Check]:
    checks, _ = compare_models(ours, reference, dtype=dtype, init="initial")
    return {check.name: check for check in checks}


def results(checks: Mapping[str, Check]) -> dict[str, str]:
    return {name.removesuffix(", initial"): check.result for name, check in checks.items()}


def changed(
    change: Callable[[ObservedWindow], Any], observation: Observation = REFERENCE
) -> Observation:
    windows = tuple(replace(window, **change(window)) for window in observation.windows)
    return replace(observation, windows=windows)


def scaled(factor: float, name: str = "") -> Callable[[ObservedWindow], Any]:
    """Multiply the gradients, or only one of them."""

    def change(window: ObservedWindow) -> Any:
        return {
            "total": {
                n: a * np.float32(factor) if name in ("", n) else a for n, a in window.total.items()
            }
        }

    return change


def test_equal_models_pass() -> None:
    checks = compared(REFERENCE)
    assert results(checks) == {
        "starting weights": "pass",
        "first loss": "pass",
        "first gradients": "pass",
        "first gradients by tensor": "pass",
        "later gradients": "pass",
        "later gradients by tensor": "pass",
    }
    assert {check.level for check in checks.values()} == {"L1a"}


def test_half_gradients_pass_their_own_limits_only() -> None:
    ours = record(HALF)
    checks = compared(ours, dtype="float16")
    assert set(results(checks).values()) == {"pass"}
    assert {check.level for check in checks.values()} == {"L1c"}
    assert "later gradients" not in results(checks)
    assert results(compared(ours))["first gradients"] == "fail"


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_factor_on_all_gradients_is_found(dtype: Dtype) -> None:
    limit = limit_of("L1a" if dtype == "float32" else "L1c", "first gradients, initial", dtype)
    for factor, result in ((1 + limit * 2, "fail"), (1 + limit / 2, "pass")):
        found = results(compared(changed(scaled(factor)), dtype=dtype))
        assert found["first gradients"] == result


def test_the_worst_tensor_is_named() -> None:
    found = compared(changed(scaled(1.001, KERNEL)))
    check = found["first gradients by tensor, initial"]
    assert check.result == "fail"
    assert check.window == 0
    assert check.value is not None
    assert 5e-5 < check.value < 1.01e-3  # small tensors count less, see FLOOR
    assert KERNEL in check.wording
    assert "1 of" in check.wording
    _, errors = compare_models(
        changed(scaled(1.001, KERNEL)), REFERENCE, dtype="float32", init="initial"
    )
    assert max(errors, key=lambda name: errors[name]) == KERNEL
    assert set(errors) == set(REFERENCE.windows[0].before)


def test_gradients_of_pure_noise_have_a_floor() -> None:
    """As that of a key bias: nothing but noise, far below the other gradients."""

    def noise(seed: int) -> Callable[[ObservedWindow], Any]:
        def change(window: ObservedWindow) -> Any:
            name = "bert.encoder.layer.0.attention.self.key.bias"
            values = np.random.default_rng(seed).standard_normal(8).astype("f4") * np.float32(1e-9)
            return {"total": {**window.total, name: values}}

        return change

    checks = compared(changed(noise(1)), changed(noise(2)))
    assert set(results(checks).values()) == {"pass"}


def test_a_missing_gradient_counts_as_zero() -> None:
    def drop(window: ObservedWindow) -> Any:
        return {"total": {n: a for n, a in window.total.items() if n != KERNEL}}

    for ours, reference in ((changed(drop), REFERENCE), (REFERENCE, changed(drop))):
        assert results(compared(ours, reference))["first gradients by tensor"] == "fail"

    def zero(window: ObservedWindow) -> Any:
        return {"total": {**window.total, KERNEL: np.zeros_like(window.total[KERNEL])}}

    assert set(results(compared(changed(drop), changed(zero))).values()) == {"pass"}


def test_gradients_are_compared_unscaled() -> None:
    def change(window: ObservedWindow) -> Any:
        return {**scaled(1024.0)(window), "row": replace(window.row, scale=1024.0)}

    assert set(results(compared(changed(change))).values()) == {"pass"}


def loss_times(factor: float) -> Callable[[ObservedWindow], Any]:
    def change(window: ObservedWindow) -> Any:
        assert window.losses[0] is not None
        return {"losses": (window.losses[0] * factor, *window.losses[1:])}

    return change


def test_another_first_loss_is_found() -> None:
    for factor, result in ((1 + 1e-5, "fail"), (1 + 1e-6, "pass")):
        ours = changed(loss_times(factor))
        assert results(compared(ours))["first loss"] == result
    assert results(compared(changed(lambda w: {"losses": (None,)})))["first loss"] == "fail"
    assert results(compared(changed(lambda w: {"losses": ()})))["first loss"] == "not tested"


def test_other_starting_weights_are_found() -> None:
    def nudge(window: ObservedWindow) -> Any:
        return {"before": {**window.before, KERNEL: window.before[KERNEL] * np.float32(1.0000002)}}

    check = compared(changed(nudge))["starting weights, initial"]
    assert check.result == "fail"
    assert KERNEL in check.wording


def test_another_model_is_named_and_its_gradients_are_not_compared() -> None:
    def transpose(window: ObservedWindow) -> Any:
        kinds = ("before", "after", "total")
        return {k: {**getattr(window, k), KERNEL: getattr(window, k)[KERNEL].T} for k in kinds}

    def drop(window: ObservedWindow) -> Any:
        return {"before": {n: a for n, a in window.before.items() if n != KERNEL}}

    for change in (transpose, drop):
        found = compared(changed(change))
        assert found["starting weights, initial"].result == "fail"
        assert KERNEL in found["starting weights, initial"].wording
        assert found["first gradients, initial"].result == "not tested"


def test_gradients_that_drift_apart_later_are_found() -> None:
    windows = list(REFERENCE.windows)
    windows[3] = replace(windows[3], **scaled(1.001)(windows[3]))
    found = results(compared(replace(REFERENCE, windows=tuple(windows))))
    assert found["first gradients"] == "pass"
    assert (found["later gradients"], found["later gradients by tensor"]) == ("fail", "fail")


def test_an_overflow_is_not_compared() -> None:
    overflowed = record(HALF, overflow=(0,))
    found = compared(overflowed, dtype="float16")
    assert found["first gradients, initial"].result == "not tested"
    assert "overflowed" in found["first gradients, initial"].wording
    assert compare_models(overflowed, REFERENCE, dtype="float16", init="initial")[1] == {}


def test_what_was_not_recorded_is_not_tested() -> None:
    checks, errors = compare_models(
        Observation(windows=()), REFERENCE, dtype="float32", init="stress"
    )
    assert [check.result for check in checks] == ["not tested"]
    assert errors == {}
    found = results(compared(changed(lambda w: {"total": {}})))
    assert found["first gradients"] == "not tested"
    single = replace(REFERENCE, windows=REFERENCE.windows[:1])
    assert results(compared(single))["later gradients"] == "not tested"
