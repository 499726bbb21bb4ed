"""Level L1b: what a run did between its gradients and its weights, against the same in float64.

Four checks, from recorded data alone; no other framework takes part. Each names the first thing
that is off: the factor of the loss, the gradients handed to the optimizer (sum, unscaling,
clipping), the update (optimizer, rate, decay, skipping), the average of the weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Dtype, Ema, Normalize, Plan
from crosscast.recipe.document import Recipe
from crosscast.reference.data import Array, Roles
from crosscast_parity.checks.check import Check, Deviation, judge, relative
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.applied import Windows, check_applied, check_norm, clips_by_itself
from crosscast_parity.levels.causes import likely_cause
from crosscast_parity.levels.recompute import (
    Source,
    chains,
    loss_factor,
    norm,
    ratio,
    rounding_room,
    with_moments,
)
from crosscast_parity.levels.rounded_weights import reads_rounded
from crosscast_parity.levels.tensor_checks import (
    UNSEEN,
    TensorError,
    excused,
    judge_tensors,
    unknown,
    untested,
)
from crosscast_parity.levels.updates import (
    all_finite,
    arithmetic_noise,
    choose_source,
    finite_part,
    measure_updates,
    still,
)
from crosscast_parity.levels.window_loss import check_window_loss
from crosscast_parity.recordings.observations import Observation, ObservedWindow, Tensors

FACTOR_LIMIT = limit_of("L1b", "loss factor")
UPDATE_LIMIT = limit_of("L1b", "update")
AVERAGE_LIMIT = limit_of("L1b", "average")
RESOLVED = 100.0
"""A change must be so many times what float32 may round off, or it shows nothing."""


def replay_run(recipe: Recipe, observation: Observation) -> tuple[Check, ...]:
    """Check every observed window of a run against the recipe."""
    plan, seen = canonical_plan(recipe), observation.windows
    if not seen:
        return (untested("L1b", "update", "no window was observed"),)
    factors, roles = check_factors(plan, seen), seen[0].roles
    applied, source = check_applied(plan, roles, seen), choose_source(seen)
    update, *lost = check_update(plan, roles, seen, source)
    if update.result == "pass" and source and recipe.precision.mode == "mixed":
        update = _of_float32(update, plan, roles, seen, source, recipe.precision.compute_dtype)
    if applied.result == update.result == "fail" and source == "applied":
        other, *more = check_update(plan, roles, seen, "total")
        if other.result == "pass" and clips_by_itself(plan, roles, seen):
            words = "the optimizer unscales or clips the gradients itself"
            applied = replace(applied, result="pass", wording=words, window=None)
            update, lost = other, more
    if applied.result == "pass" and (applied.limit or 0.0) > UNSEEN:
        words = f"a sum in half may round off {applied.limit:.1%} of a tensor's gradient"
        lost = [*lost, untested("L1b", "update of every tensor", words)]
    average = (check_average(plan, seen),) if plan.find(Ema) else ()
    loss = (check_window_loss(seen),) if recipe.processes == 1 else ()
    return (factors, *loss, check_norm(plan, roles, seen), applied, update, *lost, *average)


def check_factors(plan: Plan, seen: Windows, *, other_loss: bool = False) -> Check:
    """Check what the losses were multiplied by, micro-batch by micro-batch.

    Args:
        plan: what the script shall do.
        seen: what it did.
        other_loss: whether its loss function returns sums over rows where the plan divides means,
            or means where it divides sums.
    """
    name, normalize = "loss factor", plan.find(Normalize)
    if not any(window.factors for window in seen):
        return untested("L1b", name, "no loss was observed on its way to the backward pass")
    if not all(window.micro_rows for window in seen):
        return untested("L1b", name, "the rows of the micro-batches could not be counted")
    if normalize and normalize.unit == "token" and any(w.tokens is None for w in seen):
        return untested("L1b", name, "the trace does not say how many labels count")
    deviations = [
        factor
        for window in seen
        if not window.row.skipped
        for factor in _factors(plan, window, other_loss)
    ]
    if not deviations:
        return untested("L1b", name, "every window was skipped")
    return judge("L1b", name, deviations, FACTOR_LIMIT, nothing="")


def _factors(plan: Plan, window: ObservedWindow, other_loss: bool) -> Iterator[Deviation]:
    normalize = plan.find(Normalize)
    means = normalize is not None and normalize.unit == "microbatch"
    neutral = loss_factor(plan, window)
    for number, rows in enumerate(window.micro_rows):
        expected = neutral if not other_loss else neutral / rows if means else neutral * rows
        factor = window.factors[number] if number < len(window.factors) else None
        size = math.inf if factor is None else relative(factor, expected)
        yield Deviation(window.window, size, factor, expected)
    for factor in window.factors[len(window.micro_rows) :]:
        yield Deviation(window.window, relative(factor, neutral), factor, neutral)


def check_update(
    plan: Plan, roles: Roles, seen: Windows, source: Source | None
) -> tuple[Check, ...]:
    """Check the weights after every window against the replayed ones.

    Further checks that are not tested say where float32 resolves an update no better than `UNSEEN`,
    and where the moments before an update are unknown.
    """
    for number, tensor, problem in still(seen):
        words = f"window {number}, {tensor}: {problem}"
        return (Check(level="L1b", name="update", result="fail", wording=words, window=number),)
    if source is None:
        return (untested("L1b", "update", "no update was recorded together with its gradients"),)
    known = with_moments(plan, seen)
    others = {window.window for window in seen} - {window.window for window in known}
    late = f"the moments before window {min(others)} were not recorded" if others else ""
    if not known:
        return (untested("L1b", "update", late),)
    part = finite_part(known, source)
    measured = measure_updates(plan, roles, part, source)
    errors = [
        TensorError(window_errors.window, n, e)
        for window_errors in measured
        for n, e in window_errors.errors.items()
    ]
    lost = [TensorError(w.window, name, error) for w in measured for name, error in w.whole.items()]
    off = {error.name for error in errors if not error.error <= UPDATE_LIMIT}
    if off:
        noise = arithmetic_noise(plan, roles, part, source, off)
        rounded = [
            error
            for error in errors
            if not error.error <= UPDATE_LIMIT
            and excused(error.error, noise[error.window].get(error.name, 0.0), UPDATE_LIMIT)
        ]
        lost += rounded
        errors = [error for error in errors if error not in rounded]
    check = judge_tensors("L1b", "update", errors, UPDATE_LIMIT, nothing="nothing was finite")
    if check.result == "fail":
        cause = likely_cause(plan, roles, part, source, off, UPDATE_LIMIT)
        return (replace(check, wording=f"{check.wording}; {cause}" if cause else check.wording),)
    words = unknown(lost)
    if max((window_errors.resolved for window_errors in measured), default=0.0) < RESOLVED:
        why = "the updates are too small to distinguish from rounding"
        check, words = untested("L1b", "update", why), ""
    checks = [check]
    if words:
        checks.append(untested("L1b", "update of every tensor", words))
    if late:
        checks.append(untested("L1b", "update of later windows", late))
    return tuple(checks)


def _of_float32(
    update: Check, plan: Plan, roles: Roles, seen: Windows, source: Source, half: Dtype
) -> Check:
    """Return the check of the updates, failed if they read half copies of the weights."""
    known = finite_part(with_moments(plan, seen), source)
    words = reads_rounded(plan, roles, known, source, half)
    return replace(update, result="fail", wording=words) if words else update


def check_average(plan: Plan, seen: Windows) -> Check:
    """Check the averaged weights after every window against those before it and the weights."""
    name, op = "average", plan.find(Ema)
    if op is None or not all(window.average for window in seen):
        return untested("L1b", name, "no averaged weights were recorded")
    if not all(all_finite(window.after) for window in seen):
        return untested("L1b", name, "the weights are not finite")
    errors, resolved = [], 0.0
    for window, held in _with_averages(seen):
        for tensor, weight in window.after.items():
            start = held[tensor].astype(np.float64)
            new = start if window.row.skipped else op.decay * start + (1.0 - op.decay) * weight
            error = _average_error(window.average[tensor], new, start)
            errors.append(TensorError(window.window, tensor, error))
            resolved = max(resolved, ratio(norm(new - start), norm(rounding_room(start))))
    nothing = "the averages before the recorded windows are not known"
    check = judge_tensors("L1b", name, errors, AVERAGE_LIMIT, nothing=nothing)
    if check.result == "pass" and resolved < RESOLVED:
        return untested("L1b", name, "the average changes too little to distinguish from rounding")
    return check


def _with_averages(seen: Windows) -> Iterator[tuple[ObservedWindow, Tensors]]:
    """Yield the windows before which the averages are known, with those."""
    for chain in chains(seen):
        first = chain[0]
        held = first.before if first.window == 0 else first.held.average if first.held else {}
        for window in chain:
            if held:
                yield window, held
            held = window.average


def _average_error(recorded: Array, average: Array, start: Array) -> float:
    """How far an average is off, relative to how far it should have moved."""
    with np.errstate(invalid="ignore"):
        off = np.abs(recorded.astype(np.float64) - average) - rounding_room(average, start)
    return ratio(norm(np.maximum(off, 0.0)), norm(average - start))
