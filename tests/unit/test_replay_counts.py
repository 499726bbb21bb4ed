"""A bias correction that counts other updates than the run has made is named by the replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from crosscast.plan import operations as ops
from crosscast.reference.operations import Attempt
from crosscast_parity.levels.replay import replay_run
from crosscast_parity.recordings.observations import Observation
from replay_fakes import RECIPE, Arrays, by_name, record, results


def with_count(count: Callable[[int, int], int], overflow: Sequence[int] = ()) -> Observation:
    """A run whose bias correction counts something else, of a window and its right count."""
    skipped = set(overflow)
    right = [n + 1 - sum(o <= n for o in skipped) for n in range(6)]
    windows = iter([n for n in range(6) if n not in skipped])

    def before_op(op: ops.Op, attempt: Attempt) -> None:
        if isinstance(op, ops.Step) and attempt.finite:
            window = next(windows)
            attempt.updates = count(window, right[window]) - 1

    observed = record(RECIPE, before_op=before_op, overflow=overflow, windows=6)
    rows = zip(observed.windows, right, strict=True)
    return Observation(windows=tuple(replace(w, row=replace(w.row, updates=n)) for w, n in rows))


COUNTS: dict[str, tuple[Callable[[int, int], int], Sequence[int], str]] = {
    "windows": (
        lambda window, right: right + 2 * (window > 3),
        (1, 2),
        "counts 2 skipped windows as updates, from window 4 on",
    ),
    "one skipped window": (
        lambda window, right: right + (window > 3),
        (1, 2),
        "counts 1 skipped window as updates, from window 4 on",
    ),
    "behind": (
        lambda window, right: right - (window > 3),
        (1,),
        "is one update behind, from window 4 on",
    ),
    "ahead": (
        lambda window, right: right + (window > 3),
        (),
        "is one update ahead, from window 4 on",
    ),
    "anew": (
        lambda window, right: max(1, right - 3 * (window > 3)),
        (1,),
        "begins again, from window 4 on",
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_bias_correction_with_another_count_is_named(name: str) -> None:
    """As after a resume: the windows before it are right."""
    count, overflow, words = COUNTS[name]
    assert results(replay_run(RECIPE, with_count(lambda _, right: right, overflow)))["update"] == (
        "pass"
    )
    check = by_name(replay_run(RECIPE, with_count(count, overflow)))["update"]
    assert check.wording.endswith(f"; fits a bias correction that {words}")


@pytest.mark.parametrize("factor", [2, 3])
def test_a_step_of_another_size_is_no_other_count(factor: int) -> None:
    """A bias correction changes steps by other factors."""

    seen: list[Arrays] = []

    def longer(number: int, parameters: Arrays) -> None:
        if number > 3:
            before = seen[-1]
            for name in parameters:
                parameters[name] = before[name] + factor * (parameters[name] - before[name])
        seen.append(dict(parameters))

    check = by_name(replay_run(RECIPE, record(RECIPE, after_window=longer, windows=6)))["update"]
    assert check.result == "fail"
    assert "bias correction that" not in check.wording
