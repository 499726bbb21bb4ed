"""Tests of a loop that are true once a window, in all the forms they have."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crosscast_reading.trainstep.events import TrainingStep, WindowTest

Loop = Callable[..., TrainingStep]


def value_of(value: object) -> object:
    """Return what is known of a value."""
    return getattr(value, "value", None)


BODY = """
for {head}:
    loss = model(x) / args.accum
    loss.backward()
    {before}
    if {test}:
        opt.step()
        opt.zero_grad()
        {after}
"""


def window_for(
    loop: Loop, head: str, test: str, before: str = "pass", after: str = "pass"
) -> WindowTest:
    step = loop(BODY.format(head=head, test=test, before=before, after=after))
    assert step.windowed
    assert step.by_hand
    (update,) = step.of("step")
    assert update.window is not None
    return update.window


ENUMERATED = "i, x in enumerate(loader)"
FROM_ONE = "i, x in enumerate(loader, start=1)"


@pytest.mark.parametrize(
    ("head", "test"),
    [
        (ENUMERATED, "(i + 1) % args.accum == 0"),
        (ENUMERATED, "not (i + 1) % args.accum"),
        (ENUMERATED, "i % args.accum == args.accum - 1"),
        (ENUMERATED, "(1 + i) % args.accum == 0"),
        (ENUMERATED, "0 == (i + 1) % args.accum"),
        (FROM_ONE, "i % args.accum == 0"),
        (FROM_ONE, "not i % args.accum"),
        ("i, x in enumerate(tqdm(loader))", "(i + 1) % args.accum == 0"),
        ("i, x in tqdm(enumerate(loader), total=3)", "(i + 1) % args.accum == 0"),
        ("i, x in zip(range(100), loader)", "(i + 1) % args.accum == 0"),
        ("x, i in zip(loader, cycle(range(args.accum)))", "i == args.accum - 1"),
        ("x, i in zip(loader, cycle(range(1, args.accum + 1)))", "i % args.accum == 0"),
        (ENUMERATED, "(i + 1) % args.accum == 0 and not broken"),
    ],
)
def test_whole_windows(loop: Loop, head: str, test: str) -> None:
    window = window_for(loop, head, test)
    assert window.aligned is True
    assert window.first == 0
    assert window.key == "args.accum"
    assert value_of(window.steps) == 4
    assert not window.never_again


@pytest.mark.parametrize(
    ("head", "test", "length"),
    [
        (ENUMERATED, "i % args.accum == 0", "1"),
        (ENUMERATED, "(i + 2) % args.accum == 0", "3"),
        (FROM_ONE, "(i + 1) % args.accum == 0", "3"),
        (FROM_ONE, "i % args.accum == 1", "1"),
    ],
)
def test_first_windows_of_another_length(loop: Loop, head: str, test: str, length: str) -> None:
    window = window_for(loop, head, test)
    assert window.aligned is False
    assert window.first_length == length


def test_a_literal_length(loop: Loop) -> None:
    window = window_for(loop, ENUMERATED, "i % 4 == 3")
    assert window.aligned is True
    assert value_of(window.steps) == 4


@pytest.mark.parametrize(
    "last",
    ["i == len(loader) - 1", "i + 1 == len(loader)", "i == last_batch", "(i + 1) == num_batches"],
)
def test_the_last_batch_ends_a_window_too(loop: Loop, last: str) -> None:
    assert window_for(loop, ENUMERATED, f"(i + 1) % args.accum == 0 or {last}").last
    assert window_for(loop, ENUMERATED, f"({last}) or ((i + 1) % args.accum == 0)").last


def test_without_it_the_last_batch_does_not(loop: Loop) -> None:
    assert not window_for(loop, ENUMERATED, "(i + 1) % args.accum == 0").last


def test_names_for_the_test(loop: Loop) -> None:
    for before, test in (
        ("last = (i + 1) % args.accum == 0", "last"),
        ("more = (i + 1) % args.accum != 0", "not more"),
        ("last = (i + 1) % args.accum == 0 or i + 1 == len(loader)", "last"),
        ("last = (i + 1) % args.accum == 0", "last is True"),
    ):
        window = window_for(loop, ENUMERATED, test, before)
        assert window.aligned is True
        assert window.counter == "i"
        assert window.last == ("len" in before)


def test_the_rest_behind_a_continue(loop: Loop) -> None:
    step = loop("""
        for i, x in enumerate(loader):
            (model(x) / args.accum).backward()
            if (i + 1) % args.accum != 0:
                continue
            opt.step()
            opt.zero_grad()
        """)
    (update,) = step.of("step")
    assert update.window is not None
    assert not update.guards[0].holds
    (leave,) = step.of("leave")
    assert leave.window is None
    assert leave.guards[0].at_end is False
    assert update.excludes(leave)


def test_the_rest_behind_a_return(loop: Loop) -> None:
    step = loop("""
        def train_step(i, x):
            (model(x) / args.accum).backward()
            if (i + 1) % args.accum:
                return
            opt.step()
            opt.zero_grad()
        for i, x in enumerate(loader):
            train_step(i, x)
        """)
    window = step.of("step")[0].window
    assert window is not None
    assert window.aligned is True


def test_a_loop_over_micro_batches(loop: Loop) -> None:
    step = loop("""
        for step in range(1000):
            opt.zero_grad()
            for micro in range(args.accum):
                loss = model(next(data)) / args.accum
                loss.backward()
            opt.step()
        """)
    assert step.windowed
    assert value_of(step.steps) == 4
    assert [loop.role for loop in step.of("backward")[0].loops] == ["batch", "micro"]
    assert step.of("step")[0].window is None


def test_a_loop_over_micro_batches_with_a_test(loop: Loop) -> None:
    step = loop("""
        for step in range(1000):
            for micro in range(args.accum):
                (model(next(data)) / args.accum).backward()
                if micro < args.accum - 1:
                    continue
                opt.step()
                opt.zero_grad()
        """)
    assert [loop.role for loop in step.of("backward")[0].loops] == ["batch", "micro"]
    window = step.of("step")[0].window
    assert window is not None
    assert window.aligned is True


def test_chunks_of_a_batch(loop: Loop) -> None:
    step = loop("""
        for batch in loader:
            for chunk in batch.split(8):
                loss = model(chunk) * len(chunk) / len(batch)
                loss.backward()
            opt.step()
            opt.zero_grad()
        """)
    assert step.windowed
    (division,) = step.of("divide_loss")
    assert value_of(division.detail["times"]) == "len(chunk)"


def test_the_step_since_the_last_one(loop: Loop) -> None:
    step = loop("""
        last = -1
        for i, x in enumerate(loader):
            model(x).backward()
            if i - last >= args.accum:
                opt.step()
                opt.zero_grad()
                last = i
        """)
    window = step.of("step")[0].window
    assert window is not None
    assert window.aligned is None


def test_clearing_that_opens_a_window(loop: Loop) -> None:
    step = loop("""
        for i, x in enumerate(loader):
            if i % args.accum == 0:
                opt.zero_grad()
            (model(x) / args.accum).backward()
            if (i + 1) % args.accum == 0:
                opt.step()
        """)
    (zero,) = step.of("zero_grad")
    window = zero.guards[0].window
    assert window is not None
    assert window.opens
    assert step.of("step")[0].window is not None


def test_accelerate_counts(loop: Loop) -> None:
    step = loop("""
        from accelerate import Accelerator
        accelerator = Accelerator(gradient_accumulation_steps=args.accum)
        model, opt, loader = accelerator.prepare(model, opt, loader)
        for x in loader:
            with accelerator.accumulate(model):
                loss = model(x)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
        """)
    assert step.windowed
    assert not step.by_hand
    assert value_of(step.steps) == 4
    assert step.of("clip")[0].window is not None


def test_who_calls_decides(loop: Loop) -> None:
    step = loop(
        """
        import torch
        class Scaling:
            def __init__(self):
                self._scaler = torch.cuda.amp.GradScaler()
            def __call__(self, loss, optimizer, need_update=True):
                self._scaler.scale(loss).backward()
                if need_update:
                    self._scaler.step(optimizer)
                    self._scaler.update()
        """,
        head="",
    )
    window = step.of("step")[0].window
    assert step.windowed
    assert window is not None
    assert window.by_caller


def test_lightning_counts_batches_from_zero(loop: Loop) -> None:
    step = loop(
        """
        import lightning as L
        class Model(L.LightningModule):
            def training_step(self, batch, batch_idx):
                opt = self.optimizers()
                self.manual_backward(self.loss(batch) / 4)
                if (batch_idx + 1) % 4 == 0:
                    opt.step()
                    opt.zero_grad()
        """,
        head="",
    )
    window = step.of("step")[0].window
    assert window is not None
    assert window.aligned is True


@pytest.mark.parametrize(
    ("before", "test", "last"),
    [
        ("length = len(loader)", "i + 1 == length", True),
        ("n = len(loader) - 1", "i == n", True),
        ("n = 7", "i + 1 == n", False),
        ("n = args.other", "i + 1 == n", False),
    ],
)
def test_the_last_batch_by_a_name(loop: Loop, before: str, test: str, last: bool) -> None:
    window = window_for(loop, ENUMERATED, f"(i + 1) % args.accum == 0 or {test}", before)
    assert window.last == last
