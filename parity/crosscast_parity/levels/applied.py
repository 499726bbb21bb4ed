"""Level L1b, the gradients: summed, unscaled and clipped, are they what the optimizer was given?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from crosscast.plan.operations import Accumulate, CheckFinite, Dtype, Plan, Unscale
from crosscast.reference.data import Array, Roles
from crosscast.reference.rounding import round_to
from crosscast_parity.checks.check import Check, Deviation, judge, relative
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.recompute import gradients_of, norm, norm_of, ratio
from crosscast_parity.levels.tensor_checks import (
    TensorError,
    excused,
    judge_tensors,
    unknown,
    untested,
)
from crosscast_parity.recordings.observations import ObservedWindow, Tensors

LIMIT = limit_of("L1b", "applied gradients")
"""Relative, per tensor, of a model of up to `SMALL` weights. It grows with the root of the weights,
as rounding in a float32 norm does.

Where the recipe sums in half, it is one rounding a micro-batch: 2e-3 for four in float16 (clean
4.3e-4), 1.6e-2 in bfloat16 (clean 3.8e-3).
"""
SMALL = 100_000
UNIT: dict[Dtype, float] = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Largest relative error of rounding to a half type once."""
SMALLEST: dict[Dtype, float] = {"float16": 2.0**-24, "bfloat16": 0.0}
"""Distance of the smallest numbers of a half type; that of bfloat16 is far below all gradients."""
NOT_ROUNDED = 0.1
"""Sums that are nearer to the exact ones than this share of one rounding were not rounded."""
NAME = "applied gradients"
NORM_RANGE = (1e-15, 1e15)
"""Beyond, squares get lost in float32, and frameworks differ."""

Windows = Sequence[ObservedWindow]


def check_applied(plan: Plan, roles: Roles, seen: Windows) -> Check:
    """Check sum, unscaling and clipping of every window, and which windows are skipped."""
    if not any(window.total for window in seen):
        return untested("L1b", NAME, "the gradients of the backward pass were not observed")
    wrong = _wrong_skip(plan, roles, seen)
    if wrong is not None:
        return wrong
    seen = [w for w in seen if w.total and w.applied and not w.row.skipped]
    half = _half_sum(plan)
    limit = max((_limit(half, window) for window in seen), default=LIMIT)
    errors = [error for window in seen for error in _errors(plan, roles, window, half)]
    nothing = "no gradients were observed on their way to the optimizer"
    rounded = _rounded(plan, roles, seen, errors, limit)
    sure = [error for error in errors if error not in rounded]
    check = judge_tensors("L1b", NAME, sure, limit, nothing=nothing)
    if check.result == "pass" and (words := unknown(rounded)):
        check = replace(check, wording=f"{check.wording}; {words}")
    if check.result == "pass" and half and _never_rounded(plan, roles, seen, half):
        return Check(
            level="L1b",
            name=NAME,
            result="fail",
            wording=f"sums of gradients were not rounded to {half} after every micro-batch",
            value=check.value,
            limit=limit,
        )
    return check


def check_norm(plan: Plan, roles: Roles, seen: Windows) -> Check:
    """Check the gradient norm that the trace tells against that of the recorded sums."""
    half = _half_sum(plan)
    judged = [window for window in seen if window.total and not window.row.skipped]
    limit = max((_limit(half, window) for window in judged), default=LIMIT)
    deviations = []
    for window in judged:
        reported, expected = window.row.grad_norm, norm_of(plan, roles, window)
        if NORM_RANGE[0] < expected < NORM_RANGE[1]:
            deviations.append(
                Deviation(window.window, relative(reported, expected), reported, expected)
            )
    if not deviations:
        return untested("L1b", "gradient norm", "no gradients of finite norm were observed")
    return judge("L1b", "gradient norm", deviations, limit, nothing="")


def clips_by_itself(plan: Plan, roles: Roles, seen: Windows) -> bool:
    """Whether an optimizer was given the sums as they were, scaled or unscaled.

    There are optimizers that unscale or clip inside; then only the update can be judged.
    """
    updated = [window for window in seen if window.total and window.applied]
    unscaled = (gradients_of(plan, roles, window, upto=Unscale)[0] for window in updated)
    return all(
        _furthest(window.applied, window.total) <= _limit(None, window)
        or _furthest(window.applied, gradients) <= _limit(None, window)
        for window, gradients in zip(updated, unscaled, strict=True)
    )


def _furthest(tensors: Tensors, expected: Mapping[str, Array]) -> float:
    return max(_error(tensors.get(name), array, 0.0) for name, array in expected.items())


def _half_sum(plan: Plan) -> Dtype | None:
    """The half type in which the recipe sums gradients; None for float32."""
    accumulate = plan.find(Accumulate)
    return None if accumulate is None or accumulate.dtype == "float32" else accumulate.dtype


def _limit(half: Dtype | None, window: ObservedWindow) -> float:
    weights: int = sum(array.size for array in window.total.values())
    exact: float = LIMIT * max(1.0, (weights / SMALL) ** 0.5)
    return exact + len(window.micro_rows) * UNIT[half] if half else exact


def _errors(
    plan: Plan, roles: Roles, window: ObservedWindow, half: Dtype | None
) -> list[TensorError]:
    expected, finite = gradients_of(plan, roles, window)
    if not finite:
        return []
    lost = len(window.micro_rows) * SMALLEST[half] / window.row.scale if half else 0.0
    return [
        TensorError(window.window, name, _error(window.applied.get(name), array, lost))
        for name, array in expected.items()
    ]


def _error(recorded: Array | None, expected: Array, lost: float) -> float:
    """The relative error of a tensor, entries forgiven what half numbers near 0 lose."""
    with np.errstate(all="ignore"):
        off = expected if recorded is None else recorded.astype(np.float64) - expected
        return ratio(norm(np.maximum(np.abs(off) - lost, 0.0)), norm(expected))


def _rounded(
    plan: Plan, roles: Roles, seen: Windows, errors: list[TensorError], limit: float
) -> list[TensorError]:
    """Return the errors over the limit that rounding alone may have made.

    In float32 when squares overflow; in half sums when values are clipped far below their size:
    what is left of those that cancel is then as large as the others.
    """
    over = [error for error in errors if not error.error <= limit]
    half, where = _half_sum(plan), {error.window for error in over}
    noise = {
        window.window: _noise(plan, roles, window, half)
        for window in seen
        if window.window in where
    }
    return [error for error in over if excused(error.error, noise[error.window][error.name], limit)]


def _noise(
    plan: Plan, roles: Roles, window: ObservedWindow, half: Dtype | None
) -> dict[str, float]:
    rough, _ = gradients_of(plan, roles, window, "float32")
    exact, _ = gradients_of(plan, roles, window)
    moved = [rough]
    if half:
        moved += [gradients_of(plan, roles, _nudged(window, half, s))[0] for s in (-1.0, 1.0)]
    return {
        name: max(_error(parameters[name], array, 0.0) for parameters in moved)
        for name, array in exact.items()
    }


def _nudged(window: ObservedWindow, half: Dtype, sign: float) -> ObservedWindow:
    """Move every sum, this way and that way in turns, by half of what rounding may do to it."""

    def nudged(total: Array) -> Array:
        size = sign * len(window.micro_rows) * UNIT[half] / 2 * norm(total) / total.size**0.5
        turns = np.where(np.arange(total.size) % 2, -size, size)
        return np.asarray(total + turns.reshape(total.shape), np.float32)

    return replace(window, total={name: nudged(total) for name, total in window.total.items()})


def _wrong_skip(plan: Plan, roles: Roles, seen: Windows) -> Check | None:
    checked = plan.find(CheckFinite) is not None
    for window in seen:
        if not window.total:
            continue
        _, finite = gradients_of(plan, roles, window, "float32", upto=Unscale)
        problem = ""
        if window.row.skipped and finite and not _half_sum(plan):
            problem = "was skipped although every gradient is finite"
        elif checked and not window.row.skipped and not finite:
            problem = "was not skipped although gradients are not finite"
        if problem:
            words = f"window {window.window} {problem}"
            return Check(level="L1b", name=NAME, result="fail", wording=words, window=window.window)
    return None


def _never_rounded(plan: Plan, roles: Roles, seen: Windows, half: Dtype) -> bool:
    """Whether no sum shows a trace of rounding to half, although rounding would have left one.

    What rounding leaves is measured after the clipping, which may hide it.
    """
    shown = rounding = 0.0
    for window in seen:
        expected, finite = gradients_of(plan, roles, window)
        totals = {name: round_to(total, half) for name, total in window.total.items()}
        coarse, calm = gradients_of(plan, roles, replace(window, total=totals))
        if len(window.micro_rows) < 2 or not finite or not calm:
            continue
        for name in window.total:
            rounded = _error(coarse[name], expected[name], 0.0)
            if rounded > UNIT[half] / 20 and "layer_norm" not in roles[name]:
                rounding = max(rounding, rounded)
                shown = max(shown, _error(window.applied.get(name), expected[name], 0.0))
    return shown < rounding * NOT_ROUNDED
