"""Windows that a counter of the program's own ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crosscast.trainstep.events import TrainingStep

Loop = Callable[..., TrainingStep]

COUNTED = """
n = 0
for epoch in range(3):
    for x in loader:
        (model(x) / args.accum).backward()
        {first}
        if {test}:
            opt.step()
            opt.zero_grad()
            {inside}
        {last}
"""


@pytest.mark.parametrize(
    ("first", "test", "inside", "last", "aligned"),
    [
        ("n += 1", "n == args.accum", "n = 0", "pass", True),
        ("n += 1", "n >= args.accum", "n = 0", "pass", True),
        ("n = n + 1", "n > args.accum - 1", "n = 0", "pass", True),
        ("n += 1", "n % args.accum == 0", "pass", "pass", True),
        ("pass", "(n + 1) % args.accum == 0", "pass", "n += 1", True),
        ("pass", "n == args.accum", "n = 0", "n += 1", False),
        ("pass", "n % args.accum == 0", "pass", "n += 1", False),
    ],
)
def test_counters_of_the_program(
    loop: Loop, first: str, test: str, inside: str, last: str, aligned: bool
) -> None:
    step = loop(COUNTED.format(first=first, test=test, inside=inside, last=last))
    window = step.of("step")[0].window
    assert window is not None
    assert window.aligned is aligned
    assert window.counter == "n"
    assert window.restarts is False
    assert not window.never_again


def test_a_counter_that_starts_again_every_epoch(loop: Loop) -> None:
    step = loop("""
        for epoch in range(3):
            n = 0
            for x in loader:
                (model(x) / args.accum).backward()
                n += 1
                if n % args.accum == 0:
                    opt.step()
                    opt.zero_grad()
        """)
    window = step.of("step")[0].window
    assert window is not None
    assert window.restarts is True


@pytest.mark.parametrize(
    "test", ["done % args.accum == 0", "0 == done % args.accum", "not done % args.accum"]
)
def test_a_counter_that_only_moves_in_the_window(loop: Loop, test: str) -> None:
    step = loop(f"""
        done = 0
        for x in loader:
            (model(x) / args.accum).backward()
            if {test}:
                opt.step()
                opt.zero_grad()
                done += 1
        """)
    window = step.of("step")[0].window
    assert window is not None
    assert window.never_again


def test_a_counter_moved_by_the_test_itself(loop: Loop) -> None:
    step = loop("""
        class Trainer:
            def __init__(self):
                self.updates = 0
            def fit(self):
                for x in loader:
                    now = self.updates % self.accum == 0
                    model(x).backward()
                    if now:
                        opt.step()
                        opt.zero_grad()
                    self.updates += int(now)
        Trainer().fit()
        """)
    window = step.of("step")[0].window
    assert window is not None
    assert window.never_again


def test_a_counter_of_the_object(loop: Loop) -> None:
    step = loop("""
        class Trainer:
            def __init__(self, accum=4):
                self.accum = accum
                self.seen = 0
            def fit(self):
                for epoch in range(3):
                    for x in loader:
                        self.train_step(x)
            def train_step(self, x):
                loss = model(x) / self.accum
                loss.backward()
                self.seen += 1
                if self.seen % self.accum == 0:
                    self.update()
            def update(self):
                opt.step()
                opt.zero_grad()
        Trainer().fit()
        """)
    window = step.of("step")[0].window
    assert window is not None
    assert (window.aligned, window.restarts, window.counter) == (True, False, "self.seen")
    assert [loop.role for loop in step.of("step")[0].loops] == ["epoch", "batch"]
