"""Courses of fuzzed runs: drawn, and as text."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from hypothesis import strategies as st

from crosscast.recipe.document import Recipe
from crosscast_parity.toy.faults import PARAMETERS, Fault, Faults

VALUES = (math.inf, -math.inf, math.nan)


def to_json(faults: Faults) -> str:
    """Return a course as text for `--faults`."""
    data = asdict(faults)
    data["faults"] = [asdict(fault) | {"value": repr(fault.value)} for fault in faults.faults]
    return json.dumps(data, indent=2) + "\n"


def from_json(text: str) -> Faults:
    """Read what `to_json` wrote."""
    data: dict[str, Any] = json.loads(text)
    return Faults(
        seed=data["seed"],
        windows=tuple(map(tuple, data["windows"])),
        surges={int(window): power for window, power in data["surges"].items()},
        faults=tuple(Fault(**entry | {"value": float(entry["value"])}) for entry in data["faults"]),
    )


@st.composite
def schedules(draw: st.DrawFn, recipe: Recipe) -> Faults:
    """Any course that a recipe allows: full and short windows, surges, faults anywhere.

    A recipe without a finite check meets faults less often: after one every number is nan.
    """
    windows = draw(st.lists(_windows(recipe), min_size=1, max_size=7).map(tuple))
    numbers = st.integers(0, len(windows) - 1)
    powers = st.sampled_from((4, 9, 13, 20))
    surges = draw(st.dictionaries(numbers, powers, max_size=2))
    faults: list[Fault] = []
    if recipe.scaling_on or draw(st.integers(0, 7)) == 7:
        faults = draw(st.lists(_faults(windows), max_size=5))
    return Faults(draw(st.integers(0, 2**16)), windows, surges, tuple(faults))


@st.composite
def _windows(draw: st.DrawFn, recipe: Recipe) -> tuple[int, ...]:
    steps, rows = recipe.accumulation.steps, recipe.batch.micro_batch_size
    if draw(st.integers(0, 3)) != 3:
        return (rows,) * steps
    short = draw(st.integers(1, steps))
    return (*(rows,) * (short - 1), draw(st.integers(1, rows)))


@st.composite
def _faults(draw: st.DrawFn, windows: tuple[tuple[int, ...], ...]) -> Fault:
    window = draw(st.integers(0, len(windows) - 1))
    return Fault(
        window=window,
        micro_batch=draw(st.integers(0, len(windows[window]) - 1)),
        parameter=draw(st.sampled_from(PARAMETERS)),
        value=draw(st.sampled_from(VALUES)),
    )
