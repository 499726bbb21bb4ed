"""No regular expression of the product is slow for a long word: the words are untrusted."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from regular_expressions import Expression, expressions, slow_texts
from tiers import exhaustive

LENGTH = 6000
SECONDS = 0.05
"""What is linear takes about a millisecond for this length; what is quadratic, over 0.1 s."""


class TooSlow(Exception):
    pass


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds_of(expression: Expression, text: str) -> float:
    """Return the CPU seconds of a search, of the best of three if the first is slow."""
    best = 9.0
    for _ in range(3):
        start = time.process_time()
        try:
            with stopped_after(3.0):
                expression.run(text)
        except TooSlow:
            return 9.0
        best = min(best, time.process_time() - start)
        if best < SECONDS:
            break
    return best


def slowest(expression: Expression) -> tuple[float, str]:
    found = (0.0, "")
    for text in slow_texts(expression.pattern, LENGTH):
        found = max(found, (seconds_of(expression, text), text))
        if found[0] > SECONDS:
            break
    return found


@exhaustive("every regular expression with long words, some of them up to seconds")
def test_long_words_cost_time_in_proportion() -> None:
    found = expressions()
    assert len(found) > 700
    slow = {}
    for expression in found:
        seconds, text = slowest(expression)
        if seconds > SECONDS:
            slow[expression.place] = (seconds, expression.pattern.pattern, text[:20], text[-8:])
    assert slow == {}


@pytest.mark.parametrize("pattern", [r"\w+\.py", r"(a+)+b", r"x\s*\(?\s*\d"])
def test_a_slow_expression_is_found(pattern: str) -> None:
    assert slowest(Expression("", re.compile(pattern), anywhere=True))[0] > SECONDS
