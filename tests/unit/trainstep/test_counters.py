"""Windows that a counter of the program's own ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crosscast_reading.trainstep.events import TrainingStep

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


METHODS = """
class Trainer:
    def __init__(self):
        self.seen = 0
    {above}
    def fit(self):
        for epoch in range(3):
            for x in loader:
                {first}
                (model(x) / args.accum).backward()
                if self.seen % args.accum == 0:
                    opt.step()
                    opt.zero_grad()
                {last}
    {below}
Trainer().fit()
"""
TICK = "def tick(self):\n        self.seen += 1"


@pytest.mark.parametrize("place", ["above", "below"])
@pytest.mark.parametrize(
    ("first", "last", "aligned"),
    [
        ("self.tick()", "pass", True),
        ("pass", "self.tick()", False),
        ("self.tick()", "self.tick()", None),
        ("pass", "pass", None),
    ],
)
def test_a_counter_that_another_method_raises(
    loop: Loop, place: str, first: str, last: str, aligned: bool | None
) -> None:
    parts = {"above": "", "below": "", place: TICK}
    window = loop(METHODS.format(first=first, last=last, **parts)).of("step")[0].window
    assert window is not None
    assert window.aligned is aligned


def test_a_counter_that_a_method_raises_through_another(loop: Loop) -> None:
    above = TICK + "\n    def before(self):\n        self.tick()"
    text = METHODS.format(above=above, below="", first="self.before()", last="pass")
    window = loop(text).of("step")[0].window
    assert window is not None
    assert window.aligned is True


@pytest.mark.parametrize(
    ("before", "inside", "never"),
    [
        ("step = 0", "pass", True),
        ("step = 0", "step += 1", False),
        ("step = start()", "pass", False),
        ("step, other = 0, 1", "step = other", False),
    ],
)
def test_a_counter_that_never_moves(loop: Loop, before: str, inside: str, never: bool) -> None:
    step = loop(f"""
        {before}
        for x in loader:
            (model(x) / args.accum).backward()
            if (step + 1) % args.accum == 0:
                opt.step()
                opt.zero_grad()
            {inside}
        """)
    window = step.of("step")[0].window
    assert window is not None
    assert window.never_again is never


def test_a_variable_that_another_function_moves_is_no_constant(loop: Loop) -> None:
    step = loop("""
        step = 0
        def tick():
            global step
            step += 1
        for x in loader:
            (model(x) / args.accum).backward()
            if (step + 1) % args.accum == 0:
                opt.step()
                opt.zero_grad()
            tick()
        """)
    window = step.of("step")[0].window
    assert window is not None
    assert not window.never_again


@pytest.mark.parametrize(
    ("test", "never"),
    [
        ("i + 1 % args.accum == 0", True),
        ("i + 1 % args.accum == 0 or i + 1 == len(loader)", True),
        ("(i + 1) % args.accum == 0", False),
        ("1 + i % args.accum == args.accum", False),
    ],
)
def test_a_remainder_of_one_alone(loop: Loop, test: str, never: bool) -> None:
    step = loop(f"""
        for i, x in enumerate(loader):
            (model(x) / args.accum).backward()
            if {test}:
                opt.step()
                opt.zero_grad()
        """)
    window = step.of("step")[0].window
    assert (window is not None and window.impossible) is never
    assert (window is not None and window.never_again) is never


def test_micro_batches_that_a_while_loop_counts(loop: Loop) -> None:
    step = loop("""
        for update in range(100):
            opt.zero_grad()
            done = 0
            while done < args.accum:
                (model(next(batches)) / args.accum).backward()
                done += 1
            opt.step()
        """)
    assert step.windowed
    assert getattr(step.steps, "value", None) == 4
