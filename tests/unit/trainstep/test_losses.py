"""Divisions of the loss are followed from where they are written to the backward pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crosscast_reading.trainstep.events import TrainingStep

Loop = Callable[..., TrainingStep]


def value_of(value: object) -> object:
    """Return what is known of a value."""
    return getattr(value, "value", None)


def divisors(step: TrainingStep) -> list[str]:
    """Return what the losses that are differentiated are divided by, as written."""
    return [str(value_of(e.detail["by_key"])) for e in step.of("divide_loss")]


@pytest.mark.parametrize(
    "text",
    [
        "loss = loss_fn(model(x)) / args.accum\n    loss.backward()",
        "loss = loss_fn(model(x))\n    loss = loss / args.accum\n    loss.backward()",
        "loss = loss_fn(model(x))\n    loss /= args.accum\n    loss.backward()",
        "loss = loss_fn(model(x))\n    (loss / args.accum).backward()",
        "loss = loss_fn(model(x)).mean() / args.accum\n    loss.backward()",
        "loss = loss_fn(model(x))\n    loss = loss * (1 / args.accum)\n    loss.backward()",
        "loss = loss_fn(model(x))\n    loss *= 1 / args.accum\n    loss.backward()",
        "loss = loss_fn(model(x))\n    loss = loss.div(args.accum)\n    loss.backward()",
        "loss = torch.div(loss_fn(model(x)), args.accum)\n    loss.backward()",
        "loss = loss_fn(model(x)) / args.accum\n    scaler.scale(loss).backward()",
        "loss = loss_fn(model(x))\n    scaler.scale(loss / args.accum).backward()",
        "loss = loss_fn(model(x)) / args.accum\n    scaled = scaler.scale(loss)\n"
        "    scaled.backward()",
        "loss = a_fn(model(x)) + b_fn(x)\n    loss = loss / args.accum\n    loss.backward()",
        "n = args.accum\n    loss = loss_fn(model(x)) / n\n    loss.backward()",
        "inverse = 1.0 / args.accum\n    loss = loss_fn(model(x)) * inverse\n    loss.backward()",
        "loss = loss_fn(model(x))\n    if args.accum > 1:\n        loss = loss / args.accum\n"
        "    loss.backward()",
        "loss = loss_fn(model(x)) / float(args.accum)\n    loss.backward()",
        "losses = model(x)\n    loss = sum(losses) / args.accum\n    loss.backward()",
        "accelerator.backward(loss_fn(model(x)) / args.accum)",
    ],
)
def test_divided(loop: Loop, text: str) -> None:
    step = loop(f"for x in loader:\n    {text}\n    opt.step()\n")
    assert divisors(step) == ["args.accum"]
    (backward,) = step.of("backward")
    assert value_of(backward.detail["divided_at"])


@pytest.mark.parametrize(
    "text",
    [
        "x = x / 255.0\n    loss = loss_fn(model(x))\n    loss.backward()",
        "loss = loss_fn(model(x))\n    shown = loss.item() / args.accum\n    loss.backward()",
        "loss = loss_fn(model(x))\n    total += loss.item() / args.accum\n    loss.backward()",
        "old = loss_fn(model(x)) / args.accum\n    loss = loss_fn(model(x))\n    loss.backward()",
        "loss = loss_fn(model(x / args.accum))\n    loss.backward()",
    ],
)
def test_not_divided(loop: Loop, text: str) -> None:
    step = loop(f"for x in loader:\n    {text}\n    opt.step()\n")
    assert divisors(step) == []


def test_divided_in_the_function_that_computes_it(loop: Loop) -> None:
    step = loop("""
        def compute_loss(x, y, n):
            out = model(x)
            return loss_fn(out, y) / n
        for i, (x, y) in enumerate(loader):
            loss = compute_loss(x, y, args.accum)
            loss.backward()
            if (i + 1) % args.accum == 0:
                opt.step()
                opt.zero_grad()
        """)
    assert divisors(step) == ["args.accum"]
    assert [e.kind for e in step.of("forward")] == ["forward"]


def test_divided_in_another_file(loop: Loop) -> None:
    step = loop(
        """
        import torch
        from part1 import scaled_backward
        for i, x in enumerate(loader):
            scaled_backward(model(x), 4)
            if (i + 1) % 4 == 0:
                opt.step()
                opt.zero_grad()
        """,
        """
        def scaled_backward(loss, n):
            loss = loss / n
            loss.backward()
        """,
        head="",
    )
    assert divisors(step) == ["4"]
    (backward,) = step.of("backward")
    assert backward.span.file == "part1.py"
    assert len(backward.calls) == 1


def test_divided_twice(loop: Loop) -> None:
    step = loop("""
        for x in loader:
            loss = loss_fn(model(x)) / args.accum
            (loss / args.accum).backward()
            opt.step()
        """)
    assert divisors(step) == ["args.accum", "args.accum"]


def test_only_in_one_branch(loop: Loop) -> None:
    step = loop("""
        for x in loader:
            if args.fp16:
                loss = model(x)
                loss = loss / args.accum
                scaler.scale(loss).backward()
                scaler.step(opt)
            else:
                loss = model(x)
                loss.backward()
                opt.step()
        """)
    fast, slow = step.of("backward")
    assert value_of(fast.detail["divided_at"])
    assert not value_of(slow.detail["divided_at"])
    assert fast.excludes(slow)
    assert fast.scaler == "scaler"
    assert not slow.scaler


def test_multiplied_back(loop: Loop) -> None:
    step = loop("""
        for x in loader:
            loss = model(x)
            loss = loss * args.accum
            accelerator.backward(loss)
            opt.step()
        """)
    assert value_of(step.of("backward")[0].detail["multiplied"]) == ("args.accum",)
