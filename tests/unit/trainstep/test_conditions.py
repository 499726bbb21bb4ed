"""Guards, contexts and what excludes what."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crosscast_reading.trainstep.events import TrainingStep

Loop = Callable[..., TrainingStep]


def test_branches_of_a_flag(loop: Loop) -> None:
    step = loop("""
        for x in loader:
            opt.zero_grad()
            loss = model(x)
            if args.fp16:
                scaler.scale(loss).backward()
            else:
                loss.backward()
            if args.clip > 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            if args.fp16:
                scaler.step(opt)
                scaler.update()
            else:
                opt.step()
        """)
    fast, slow = step.of("backward")
    first, second = step.of("step")
    assert fast.guards[0].flags == ("args.fp16",)
    assert (fast.by_default, slow.by_default) == (False, True)
    assert fast.excludes(slow)
    assert fast.excludes(second)
    assert not fast.excludes(first)
    (clip,) = step.of("clip")
    assert clip.by_default
    assert not clip.excludes(fast)
    assert not clip.excludes(slow)


def test_cases(loop: Loop) -> None:
    step = loop("""
        for x in loader:
            match args.mode:
                case "amp":
                    scaler.scale(model(x)).backward()
                case _:
                    model(x).backward()
            opt.step()
        """)
    fast, slow = step.of("backward")
    assert fast.excludes(slow)


def test_handlers(loop: Loop) -> None:
    step = loop("""
        for x in loader:
            try:
                model(x).backward()
                opt.step()
            except RuntimeError:
                opt.zero_grad()
                continue
            opt.zero_grad()
        """)
    handled, normal = step.of("zero_grad")
    assert handled.guards[0].text == "except RuntimeError"
    assert not normal.guards


def test_parts_of_an_expression(loop: Loop) -> None:
    step = loop("""
        for x in loader:
            model(x).backward()
            opt.step()
            sched and sched.step()
            ema.update(model) if args.fp16 else None
        """)
    assert [g.text for g in step.of("schedule")[0].guards] == ["sched"]
    assert step.of("average_weights")[0].by_default is False


def test_counters_have_no_usual_value(loop: Loop) -> None:
    step = loop("""
        seen = 0
        for x in loader:
            model(x).backward()
            opt.step()
            seen += 1
            if seen > 100:
                sched.step()
        """)
    assert step.of("schedule")[0].guards[0].value is None


@pytest.mark.parametrize(
    ("text", "enabled"),
    [
        ("with autocast():", None),
        ("with autocast(enabled=args.fp16):", False),
        ("with torch.autocast('cuda', dtype=torch.float16, enabled=args.fp16):", False),
        ("with torch.amp.autocast('cuda', enabled=False):", False),
        ("ctx = autocast() if args.fp16 else nullcontext()\n    with ctx:", None),
    ],
)
def test_autocast(loop: Loop, text: str, enabled: bool | None) -> None:
    step = loop(f"""
for x in loader:
    {text}
        loss = model(x)
    loss.backward()
    opt.step()
""")
    context = step.of("forward")[0].context("autocast")
    assert context is not None
    found = context.detail.get("enabled")
    assert getattr(found, "value", None) is enabled
    assert step.of("backward")[0].context("autocast") is None


def test_a_decorated_step(loop: Loop) -> None:
    step = loop("""
        @autocast()
        def train_step(x):
            model(x).backward()
            opt.step()
        for x in loader:
            train_step(x)
        """)
    assert all(e.context("autocast") is not None for e in step.events)


NO_SYNC = """
for i, x in enumerate(loader):
    last = (i + 1) % args.accum == 0
    {text}
    if last:
        opt.step()
        opt.zero_grad()
"""


@pytest.mark.parametrize(
    "text",
    [
        "ctx = nullcontext() if last else model.no_sync()\n    with ctx:\n"
        "        (model(x) / args.accum).backward()",
        "ctx = model.no_sync if not last else nullcontext\n    with ctx():\n"
        "        (model(x) / args.accum).backward()",
        "with nullcontext() if last else model.no_sync():\n"
        "        (model(x) / args.accum).backward()",
        "with ExitStack() as stack:\n        if not last:\n"
        "            stack.enter_context(model.no_sync())\n"
        "        (model(x) / args.accum).backward()",
        "if last:\n        ctx = nullcontext()\n    else:\n        ctx = model.no_sync()\n"
        "    with ctx:\n        (model(x) / args.accum).backward()",
        "with fabric.no_backward_sync(model, enabled=not last):\n"
        "        (model(x) / args.accum).backward()",
        "model.require_backward_grad_sync = last\n    (model(x) / args.accum).backward()",
    ],
)
def test_no_sync_under_a_condition(loop: Loop, text: str) -> None:
    step = loop(NO_SYNC.format(text=text))
    (backward,) = step.of("backward")
    context = backward.context("no_sync")
    assert context is not None
    (guard,) = context.guards
    assert guard.at_end is False
    assert step.of("step")[0].context("no_sync") is None or "require" in text


def test_no_sync_in_a_branch(loop: Loop) -> None:
    step = loop("""
        for i, x in enumerate(loader):
            if (i + 1) % args.accum != 0:
                with model.no_sync():
                    (model(x) / args.accum).backward()
            else:
                (model(x) / args.accum).backward()
                opt.step()
                opt.zero_grad()
        """)
    held, last = step.of("backward")
    assert held.context("no_sync") is not None
    assert last.context("no_sync") is None
    assert held.excludes(last)
    window = step.of("step")[0].window
    assert step.windowed
    assert window is not None
    assert window.aligned is True
