"""Mistakes show in the events; what only looks like training does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crosscast_reading.trainstep.events import TrainingStep

Loop = Callable[..., TrainingStep]
Find = Callable[..., tuple[TrainingStep, ...]]

CLEAN = """
for epoch in range(3):
    opt.zero_grad()
    for i, (x, y) in enumerate(loader):
        with autocast():
            loss = loss_fn(model(x), y) / args.accum
        scaler.scale(loss).backward()
        if (i + 1) % args.accum == 0:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
            sched.step()
"""


def mutant(old: str, new: str) -> str:
    """Return the clean program with one change."""
    assert old in CLEAN
    return CLEAN.replace(old, new)


def test_the_clean_program(loop: Loop) -> None:
    step = loop(CLEAN)
    assert len(step.of("divide_loss")) == 1
    assert all(e.window is not None and e.window.aligned for e in step.inside("step"))
    unscale, clip = step.of("unscale", "clip")
    assert (unscale.kind, clip.kind) == ("unscale", "clip")
    assert len(step.inside("zero_grad")) == 1


def test_the_undivided_loss(loop: Loop) -> None:
    step = loop(mutant(" / args.accum\n", "\n"))
    assert step.windowed
    assert not step.of("divide_loss")


def test_the_clip_of_scaled_gradients(loop: Loop) -> None:
    step = loop(mutant("            scaler.unscale_(opt)\n", ""))
    assert not step.of("unscale")
    assert step.of("clip")[0].order < step.of("step")[0].order


def test_gradients_that_are_never_cleared(loop: Loop) -> None:
    text = mutant("            opt.zero_grad()\n", "").replace("    opt.zero_grad()\n", "")
    assert not loop(text).of("zero_grad")


def test_the_boundary_off_by_one(loop: Loop) -> None:
    window = loop(mutant("(i + 1) %", "i %")).of("step")[0].window
    assert window is not None
    assert window.aligned is False
    assert window.first == 1


def test_the_clip_of_every_micro_batch(loop: Loop) -> None:
    line = "            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)\n"
    text = mutant(line, "").replace(
        "        if (i + 1)",
        "    " + line.strip().rjust(len(line.strip()) + 4) + "\n        if (i + 1)",
    )
    step = loop(text)
    assert step.of("clip")[0].window is None
    assert step.of("step")[0].window is not None


@pytest.mark.parametrize(
    "text",
    [
        # nothing is differentiated
        "with torch.no_grad():\n    for x in loader:\n        y = model(x)\n",
        "model.train()\nfor x in loader:\n    y = model(x)\n",
        # the backward of an operation
        """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x
    @staticmethod
    def backward(ctx, grad):
        torch.autograd.backward(grad)
        return 2 * grad
""",
        # networks by hand
        """
for layer in layers:
    layer.step(x)
    net.backward(delta)
""",
        # not called
        "def backward(x):\n    return x\n",
        "# loss.backward()\ntext = 'loss.backward()'\n",
        "if False:\n    for x in loader:\n        model(x).backward()\n        opt.step()\n",
    ],
)
def test_no_training(steps: Find, text: str) -> None:
    assert steps(text) == ()


def test_no_framework(steps: Find) -> None:
    assert (
        steps("for x in data:\n    line.backward()\n    line.step()\n", head="import git\n") == ()
    )


@pytest.mark.parametrize(
    "text",
    [
        "if i % 100 == 0:\n        print(loss.item())",
        "if (i + 1) % 100 == 0:\n        torch.save(model.state_dict(), 'x')",
        "if i % 1000 == 0:\n        evaluate(model)",
        "if i % 50 == 0:\n        sched.step()",
        "if step % args.accum == 0:\n        log(i)",
        "if i % 10 == 0:\n        continue",
    ],
)
def test_other_remainders_are_no_windows(loop: Loop, text: str) -> None:
    step = loop(f"""
for i, x in enumerate(loader):
    opt.zero_grad()
    loss = model(x)
    loss.backward()
    opt.step()
    {text}
""")
    assert not step.windowed
    assert all(guard.window is None for e in step.events for guard in e.guards)


def test_a_generator_trained_now_and_then_is_no_window(loop: Loop) -> None:
    step = loop("""
        opt_g = torch.optim.Adam(gen.parameters())
        opt_d = torch.optim.Adam(disc.parameters())
        for i, x in enumerate(loader):
            opt_d.zero_grad()
            d_loss = disc(x) - disc(gen(z).detach())
            d_loss.backward()
            opt_d.step()
            if i % 5 == 0:
                opt_g.zero_grad()
                g_loss = -disc(gen(z))
                g_loss.backward()
                opt_g.step()
        """)
    assert not step.windowed
    assert [e.subject for e in step.of("step")] == ["opt_d", "opt_g"]
    assert [e.subject for e in step.of("backward")] == ["d_loss", "g_loss"]


@pytest.mark.parametrize(
    "text",
    [
        "obs, reward, done, info = env.step(action)",
        "profiler.step()",
        "scaler_meter.update(1)",
        "metric.accumulate()",
        "metric.update(y)",
        "image = transform.scale(image)",
        "timer.step()",
        "state.reset()",
        "bar.update()",
        "torch.distributed.all_reduce(accuracy)",
    ],
)
def test_other_calls(loop: Loop, text: str) -> None:
    step = loop(f"""
for x in loader:
    {text}
    opt.zero_grad()
    loss = loss_fn(x)
    loss.backward()
    opt.step()
""")
    assert [e.kind for e in step.events] == ["zero_grad", "backward", "step"]


def test_two_scalers_and_optimizers(loop: Loop) -> None:
    step = loop("""
        scaler_d, scaler_g = GradScaler(), GradScaler()
        opt_d, opt_g = torch.optim.Adam(a), torch.optim.Adam(b)
        for x in loader:
            with autocast():
                loss_d = disc(x)
            opt_d.zero_grad()
            scaler_d.scale(loss_d).backward()
            scaler_d.step(opt_d)
            scaler_d.update()
            with autocast():
                loss_g = gen(x)
            opt_g.zero_grad()
            scaler_g.scale(loss_g).backward()
            scaler_g.step(opt_g)
            scaler_g.update()
        """)
    assert [(e.subject, e.scaler) for e in step.of("step")] == [
        ("opt_d", "scaler_d"),
        ("opt_g", "scaler_g"),
    ]
    assert [e.scaler for e in step.of("backward")] == ["scaler_d", "scaler_g"]
