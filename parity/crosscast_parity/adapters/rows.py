"""What an observation of the neutral cases says, in words.

Pure functions of plain data. Words are found by comparing with the outcomes that are known; any
other outcome is given as it is, so that a trainer that changes its ways shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from crosscast_parity.adapters.cases import CASES, START, Case

Cases = Mapping[str, Mapping[str, Any]]
Outcomes = Mapping[str, Sequence[float]]
BY_NAME: dict[str, Case] = {case.name: case for case in CASES}


def weights(seen: Mapping[str, Any]) -> list[float]:
    """Return the weight after every micro-batch."""
    return [float(weight) for weight in seen["weights"]]


def updates(seen: Mapping[str, Any]) -> list[float]:
    """Return by how much the weight fell, for every micro-batch after which it had moved."""
    decreases, last = [], START
    for weight in weights(seen):
        if weight != last:
            decreases.append(last - weight)
        last = weight
    return decreases


def like(numbers: Sequence[float], wanted: Sequence[float]) -> bool:
    """Whether numbers are the same, but for rounding."""
    return len(numbers) == len(wanted) and all(
        math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6) for a, b in zip(numbers, wanted, strict=True)
    )


def listed(values: Sequence[float]) -> str:
    """Return numbers as people read them."""
    return ", ".join(f"{value:.4g}" for value in values)


def among(outcomes: Outcomes, numbers: Sequence[float], what: str) -> str:
    """Return the words of the outcome that was found, or the numbers themselves."""
    for words, wanted in outcomes.items():
        if like(numbers, wanted):
            return words
    return f"{what} {listed(numbers)}"


def tail(cases: Cases) -> str:
    """What becomes of two micro-batches at the end of an epoch, where windows have four."""
    outcomes: Outcomes = {
        "stepped, divided by what it holds": [1, 1, 1] * 2,
        "stepped, divided by a full window": [1, 1, 0.5] * 2,
        "carried into the next epoch": [1] * 5,
        "steps after the 1st micro-batch and every 4th from there; not divided": [1, 4, 4, 2, 4, 4],
        "dropped": [1] * 4,
    }
    return among(outcomes, updates(cases["tail"]), "updates")


def _mean(seen: Mapping[str, Any]) -> str:
    outcomes: Outcomes = {"mean of the rows": [2], "mean of the micro-batches": [3], "sum": [6]}
    return among(outcomes, updates(seen), "update")


def uneven(cases: Cases) -> str:
    """What the gradients of a window with three rows and one row are divided by."""
    return _mean(cases["uneven"])


def uneven_counted(cases: Cases) -> str:
    """The same, where the trainer can be told to count rows."""
    return _mean(cases["uneven_counted"])


def invariance(cases: Cases) -> str:
    """Whether four micro-batches of one row train as one of four."""
    small, large = updates(cases["four_small"]), updates(cases["one_large"])
    return "equal" if like(small, large) else f"{listed(small)} against {listed(large)}"


def clip_window(cases: Cases) -> str:
    """What is clipped: gradients 3 and -1 of a window, limit 2."""
    outcomes: Outcomes = {"the gradient of the window": [1], "every micro-batch's": [0.5]}
    return among(outcomes, updates(cases["clip_window"]), "updates")


def _clipped(seen: Mapping[str, Any]) -> str:
    outcomes: Outcomes = {"after unscaling": [2], "before unscaling": [2 / 1024]}
    return among(outcomes, updates(seen), "updates")


def clip_scaled(cases: Cases) -> str:
    """Whether the limit is one for the true gradient."""
    return _clipped(cases["clip_scaled"])


def clip_fused(cases: Cases) -> str:
    """The same with a fused optimizer, which can unscale by itself."""
    return _clipped(cases["clip_fused"])


def skip(cases: Cases) -> str:
    """What moves when the gradients overflowed."""
    seen = cases["skip"]
    moved = []
    if weights(seen)[0] != weights(seen)[1]:
        moved.append("weights")
    if seen["slots"][0][1:] != seen["slots"][1][1:]:
        moved.append("moments")
    scale = "scale halves" if like(seen["scales"][:2], [1024, 512]) else "scale stays"
    return f"{' and '.join(moved) or 'nothing'} moved, {scale}"


def counters(cases: Cases) -> str:
    """What the counters say after two updates and a skip."""
    seen = cases["skip"]
    own = seen["counter"]
    trainer = f"; trainer: {own}" if own is not None else ""
    return f"optimizer: {seen['slots'][-1][0]:g}{trainer}"


def _rate(seen: Mapping[str, Any]) -> str:
    return among({"waits": [1, 0.75], "ticks": [1, 0.5]}, updates(seen), "updates")


def rate_skip(cases: Cases) -> str:
    """Whether the schedule moves on when a step was skipped."""
    return _rate(cases["rate_skip"])


def rate_skip_fused(cases: Cases) -> str:
    """The same with a fused optimizer, which GradScaler calls even if it skips."""
    return _rate(cases["rate_skip_fused"])


def rate_micro(cases: Cases) -> str:
    """What the schedule counts."""
    outcomes: Outcomes = {
        "updates": [1, 0.875, 0.75, 0.625],
        "micro-batches": [0.875, 0.625, 0.375, 0.125],
    }
    return among(outcomes, updates(cases["rate_micro"]), "rates")


def inside(cases: Cases) -> str:
    """What becomes of a window one of whose four micro-batches overflowed."""
    seen = weights(cases["inside"])
    moves = [
        index for index, (a, b) in enumerate(zip([START, *seen], seen, strict=False)) if a != b
    ]
    if moves == [3, 11]:
        return "the whole window is skipped"
    if moves == [0, 4]:
        return "the whole window is skipped (windows end with micro-batches 1, 5, 9)"
    if moves == [3, 8]:
        return "this micro-batch is left out, later windows begin one later"
    return f"moves after micro-batches {', '.join(str(index + 1) for index in moves)}"


def growth(cases: Cases) -> str:
    """What the interval of the loss scale counts."""
    last = cases["growth"]["scales"][-1]
    return {2048.0: "updates", 4096.0: "micro-batches"}.get(last, f"scale {last:g} at the end")


def unscaled(cases: Cases) -> str:
    """What an infinite gradient does where there is no loss scale."""
    seen = weights(cases["unscaled_overflow"])
    if len(seen) < len(BY_NAME["unscaled_overflow"].rows):
        return "the run stops"
    return "skipped" if math.isfinite(seen[-1]) else "trains on with weights of inf or nan"


def half(facts: Mapping[str, Any]) -> str:
    """What float16 on a CPU turns out to be."""
    if "refused" in facts:
        return f"refused: {facts['refused']}"
    scaler = "loss scaling" if facts["scaler"] else "no loss scaling"
    warning = "" if facts["computed"] == "float16" else ", no warning"
    return f"{facts['computed']}, {scaler}{', a warning' if facts['warned'] else warning}"
