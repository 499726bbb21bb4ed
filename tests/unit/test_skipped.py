"""An overflow in one program only: another kernel, or another program?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crosscast_parity.checks.check import Check
from crosscast_parity.levels.envelope import measure_envelope
from crosscast_parity.levels.traces import compare_traces
from crosscast_parity.recordings.trace import TraceRow
from parity_fakes import good_rows

REFERENCE = good_rows()


def skips(ours: Sequence[TraceRow], reference: Sequence[TraceRow] = REFERENCE) -> Check:
    envelope = measure_envelope(reference, [reference] * 3)
    checks = compare_traces(ours, reference, envelope, dtype="float16")
    return next(check for check in checks if check.name == "skipped")


def test_one_overflow_may_be_a_kernel() -> None:
    check = skips(good_rows(skipped=[25]))
    assert (check.result, check.window) == ("unclear", 25)


def test_overflows_far_below_the_scale_of_the_reference_are_a_program() -> None:
    """Gradients that are kept after an overflow overflow again, however small the scale gets."""
    check = skips(good_rows(skipped=list(range(25, 40))))
    assert (check.result, check.window) == ("fail", 27)
    assert "reference no overflow" in check.wording


def test_the_same_holds_for_the_reference() -> None:
    check = skips(REFERENCE, good_rows(skipped=list(range(25, 40))))
    assert (check.result, check.window) == ("fail", 27)
    assert "no overflow at scale" in check.wording


def test_neither_does_the_lowest_scale_excuse_it() -> None:
    """At its floor the scale no longer falls, and a program that never updates is another one."""
    floor = [replace(row, scale=1024.0) for row in REFERENCE]
    stuck = [replace(row, skipped=row.window >= 30) for row in floor]
    check = skips(stuck, floor)
    assert (check.result, check.window) == ("fail", 33)
    twice = [replace(row, skipped=row.window in (30, 31)) for row in floor]
    assert skips(twice, floor).result == "unclear"
