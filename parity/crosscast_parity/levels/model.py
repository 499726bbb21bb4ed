"""Levels L1a and L1c: loss and gradients of the model against the reference's, tensor by tensor.

Both programs hold the same weights and see the same rows. In float32 two initialisations are
needed: that of BERT makes a wrong epsilon of LayerNorm visible, the stress weights a wrong GELU. In
half precision the reference may be its float32 run or its half run; the limits hold for both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from crosscast.plan.operations import Dtype
from crosscast.reference.data import Array
from crosscast_parity.checks.check import Check, Deviation, judge, relative
from crosscast_parity.checks.kinds import Level
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.dtypes import half_casts
from crosscast_parity.levels.recompute import norm, ratio
from crosscast_parity.levels.tensor_checks import TensorError, judge_tensors, untested
from crosscast_parity.levels.updates import same
from crosscast_parity.recordings.observations import Observation, ObservedWindow

TensorErrors = Mapping[str, float]
"""By parameter, in window 0: what the heat map shows."""

FLOOR = 1e-3
"""Smallest norm that a tensor is compared by, as a share of the norm of all gradients.

The gradient of a key bias is 0 in exact arithmetic and noise in any other.
"""


ROOM = 2.0
"""Times the noise that gradients of a custom model may be off. At a kink, such as that of ReLU, all
of a gradient passes or nothing of it, and rounding decides which."""
CHAOS = 0.1
"""A limit that says nothing about gradients."""
FIRST = 4
"""Windows whose gradients are compared: rounding grows while a model trains."""


def compare_models(
    ours: Observation,
    reference: Observation,
    *,
    dtype: Dtype,
    init: Literal["initial", "stress"],
    near: Sequence[tuple[Observation, Observation]] = (),
) -> tuple[tuple[Check, ...], TensorErrors]:
    """Compare window 0 of two runs and, in float32, the last of the first that both recorded.

    Args:
        ours: what was recorded of the program in question.
        reference: what was recorded of the reference.
        dtype: type of our matmuls; in half precision this is level L1c.
        init: which weights both began with; named in the checks.
        near: for a custom model, what was recorded of a program, and of the same with rounding that
            is larger than between frameworks: gradients may be off by as much (`ROOM`), by the
            smaller one of several programs, so that a bug in one of them is no room for it.
    """
    level: Level = "L1a" if dtype == "float32" else "L1c"
    theirs = {window.window: window for window in reference.windows if window.window < FIRST}
    pairs = [(w, theirs[w.window]) for w in ours.windows if w.window in theirs]
    if not pairs or pairs[0][0].window:
        return (untested(level, f"first gradients, {init}", "no window was observed"),), {}
    first = pairs[0]
    norms = _norms(*first)
    checks = [
        _weights(level, init, *first),
        _loss(level, init, dtype, *first),
        *_gradients(level, init, first, norms, dtype, _noises(first[1], near)),
    ]
    if level == "L1a":
        last = next((p for p in reversed(pairs) if _usable(*p) and p is not first), None)
        noises = _noises(last[1], near) if last else []
        checks += _gradients(level, init, last, _norms(*last) if last else {}, noises=noises)
        casts = half_casts(ours.manifest)
        if casts and not half_casts(reference.manifest):
            checks = [_with_cause(check, casts) for check in checks]
    return tuple(checks), _errors(norms)


def _noises(window: ObservedWindow, near: Sequence[tuple[Observation, Observation]]) -> list[Norms]:
    """Return how far gradients of a window are from those of the same, rounded otherwise."""
    noises = (
        _norms(other, own)
        for observed, shifted in near
        for own in observed.windows
        for other in shifted.windows
        if own.window == other.window == window.window
    )
    return [norms for norms in noises if norms]


def _with_cause(check: Check, cause: str) -> Check:
    if check.result != "fail":
        return check
    return replace(check, wording=f"{check.wording}; {cause}, the reference's does not")


Norms = Mapping[str, tuple[float, float]]
"""Of the difference of two gradients, and of that of the reference, by parameter."""


def _norms(ours: ObservedWindow, reference: ObservedWindow) -> Norms:
    """Return them for every gradient; empty if there are none to compare."""
    if not _usable(ours, reference):
        return {}
    return {name: (norm(a - b), norm(b)) for name, a, b in _gradient_pairs(ours, reference)}


def _errors(norms: Norms) -> TensorErrors:
    floor = FLOOR * norm(np.array([whole for _, whole in norms.values()]))
    return {name: ratio(off, max(whole, floor)) for name, (off, whole) in norms.items()}


def _together(norms: Norms) -> float:
    off, whole = (norm(np.array(sizes)) for sizes in zip(*norms.values(), strict=True))
    return ratio(off, whole)


def _gradient_pairs(
    ours: ObservedWindow, reference: ObservedWindow
) -> Iterator[tuple[str, Array, Array]]:
    """Yield the unscaled gradients of both; what one has no gradient for is 0 there."""
    for name in dict.fromkeys((*reference.total, *ours.total)):
        shape = reference.before[name].shape
        a, b = (_unscaled(observed, name, shape) for observed in (ours, reference))
        yield name, a, b


def _unscaled(window: ObservedWindow, name: str, shape: tuple[int, ...]) -> Array:
    array = window.total.get(name)
    if array is None or not window.row.scale:
        return np.zeros(shape)
    return np.asarray(array.astype(np.float64) / window.row.scale)


def _usable(ours: ObservedWindow, reference: ObservedWindow) -> bool:
    """Whether two windows have gradients of the same parameters, and none overflowed."""
    both = (ours, reference)
    return all(w.total and not w.row.skipped for w in both) and not _misfit(ours, reference)


def _misfit(ours: ObservedWindow, reference: ObservedWindow) -> str:
    """The first parameter that only one has, or that differs in shape; empty if none."""
    for name in dict.fromkeys((*ours.before, *reference.before)):
        a, b = ours.before.get(name), reference.before.get(name)
        if a is None or b is None or a.shape != b.shape:
            return name
    return ""


def _weights(level: Level, init: str, ours: ObservedWindow, reference: ObservedWindow) -> Check:
    """The weights that both begin with are the same file, so they are equal bit by bit."""
    name, misfit = f"starting weights, {init}", _misfit(ours, reference)
    if misfit:
        words = f"{misfit} is missing on one side or has another shape"
        return Check(level=level, name=name, result="fail", wording=words, window=0)
    off = [n for n, array in reference.before.items() if not same(array, ours.before[n])]
    words = f"{off[0]} differs, one of {len(off)}" if off else "equal"
    result: Literal["pass", "fail"] = "fail" if off else "pass"
    return Check(
        level=level,
        name=name,
        result=result,
        wording=words,
        value=float(len(off)),
        limit=0,
        window=0 if off else None,
    )


def _loss(
    level: Level, init: str, dtype: Dtype, ours: ObservedWindow, reference: ObservedWindow
) -> Check:
    name = f"first loss, {init}"
    if not ours.losses or not reference.losses:
        return untested(level, name, "the losses of micro-batches were not observed")
    a, b = ours.losses[0], reference.losses[0]
    limit = limit_of(level, name, dtype)
    return judge(level, name, [Deviation(0, relative(a, b), a, b)], limit, nothing="")


def _gradients(
    level: Level,
    init: str,
    pair: tuple[ObservedWindow, ObservedWindow] | None,
    norms: Norms,
    dtype: Dtype | None = None,
    noises: Sequence[Norms] = (),
) -> list[Check]:
    """Compare gradients of the first window, of a type of matmuls; without one, of a later one."""
    when = "first" if dtype else "later"
    names = f"{when} gradients, {init}", f"{when} gradients by tensor, {init}"
    if pair is None or not _usable(*pair):
        return [untested(level, name, _reason_untested(pair)) for name in names]
    together, tensor = (limit_of(level, name, dtype) for name in names)
    rounded = _room(noises)
    if rounded:
        together = max(together, ROOM * min(map(_together, noises)))
        tensor = max([tensor, *(size for size in rounded.values() if size <= CHAOS)])
        if together > CHAOS:
            words = f"rounding alone moves the gradients by {together / ROOM:.0%}"
            return [untested(level, name, words) for name in names]
    window = pair[0].window
    errors = _errors(norms)
    judged = [
        TensorError(window, name, error)
        for name, error in errors.items()
        if rounded.get(name, 0.0) <= CHAOS
    ]
    lost = len(errors) - len(judged)
    by_tensor = judge_tensors(level, names[1], judged, tensor, nothing="rounding decides about all")
    if lost and by_tensor.result == "pass":
        words = f"{by_tensor.wording}; rounding decides about {lost} of {len(errors)} tensors"
        by_tensor = replace(by_tensor, wording=words)
    whole = Deviation(window, _together(norms), None, None)
    check = judge(level, names[0], [whole], together, nothing="")
    if check.result == "fail":
        words = f"window {window}: off by {whole.size:.2g} (limit {together:g})"
        check = replace(check, wording=words)
    return [check, by_tensor]


def _room(noises: Sequence[Norms]) -> dict[str, float]:
    """Return how far every gradient may be off by its noise, the smallest of several programs."""
    errors = [_errors(noise) for noise in noises]
    names = errors[0] if errors else {}
    return {name: ROOM * min(sizes.get(name, math.inf) for sizes in errors) for name in names}


def _reason_untested(pair: tuple[ObservedWindow, ObservedWindow] | None) -> str:
    if pair is None:
        return "one window was recorded"
    if any(window.row.skipped for window in pair):
        return f"window {pair[0].window} overflowed: lower the loss scale"
    misfit = _misfit(*pair)
    return f"{misfit} is not the same parameter" if misfit else "gradients were not recorded"
