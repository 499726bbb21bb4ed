"""Strange programs give no exception."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python.accumulation import READER
from crosscast_reading.trainstep.events import TrainingStep
from crosscast_reading.trainstep.steps.search import training_steps

Find = Callable[..., tuple[TrainingStep, ...]]
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "loss.backward()",
        "loss = loss / loss\nloss.backward()",
        "loss = loss\nloss.backward()\nopt = opt\nopt.step()",
        "for x in x:\n    x.backward()\n    x.step()",
        "while loss.backward():\n    opt.step()",
        "for i, in enumerate(a):\n    loss.backward()\n    if i % 0 == 0:\n        opt.step()",
        "for i in range(0):\n    loss.backward()\n    if (i + 1) % -4 == 0:\n        opt.step()",
        "for i in range(3):\n    loss.backward()\n    if i % 'a' == 0:\n        opt.step()",
        "f = lambda: f()\nf()\nloss.backward()",
        "def a():\n    b()\ndef b():\n    a()\n    loss.backward()\na()",
        "[opt.step() for opt in opts if loss.backward()]",
        "with amp.scale_loss() as s:\n    s.backward()",
        "with amp.scale_loss(*x) as (a, b):\n    a.backward()",
        "scaler.scale().backward()\nscaler.step()\nscaler.unscale_()\nscaler.update()",
        "optimizer.minimize()\nscaler.minimize()\ntape.gradient()\njax.grad()()",
        "opt.step(lambda: opt.step(lambda: loss.backward()))",
        "x = y = z = loss / n\nx.backward()",
        "(a, *b), c = loss / n, 1\na.backward()",
        "loss /= n\nloss *= 1 / n\nself.loss /= n\nself.loss.backward()",
        "async def f():\n    async for x in y:\n        async with z:\n            loss.backward()",
        "try:\n    loss.backward()\nexcept* ValueError:\n    opt.step()",
        "match x:\n    case [a, *b] if loss.backward():\n        opt.step()",
        "class A:\n    loss.backward()\n    opt.step()",
        "def f(x=loss.backward()):\n    opt.step()\nf()",
        "if (n := loss.backward()) % 4 == 0:\n    opt.step()",
        "@loss.backward()\ndef f():\n    opt.step()",
        "scaler(loss, opt)\nscaler(loss, opt, update_grad=1 % 0 == 0)",
        "def step(self):\n    self.step()\n    self.backward(loss)",
        "global_step % n == 0 and loss.backward() or opt.step()",
        "with a, b(), c as d, e() as (f, g):\n    loss.backward()",
        "model.require_backward_grad_sync = x\nloss.backward()\nopt.step()",
        "for p in model.parameters(): p.grad = None\nloss.backward()",
    ],
)
def test_strange_programs(steps: Find, text: str) -> None:
    steps(text, head="import torch, jax\n")
    program, _ = read_program([Source("x.py", "import torch\n" + text)])
    list(READER.read(program))


def test_deep_nesting(steps: Find) -> None:
    deep = "loss" + ".mean()" * 95 + " / n"
    steps(f"for x in y:\n    loss = {deep}\n    loss.backward()\n    opt.step()\n")
    inner = "    " * 18 + "loss.backward()\n"
    steps("".join("    " * i + f"if a{i}:\n" for i in range(18)) + inner)


def test_many_calls_of_one_helper(steps: Find) -> None:
    text = "def f(x):\n    x.backward()\n    opt.step()\n"
    for place in range(1, 8):
        text += f"def f{place}(x):\n" + f"    f{place - 1 or ''}(x)\n" * 8
    steps(text + "for x in loader:\n    f7(x)\n")


def test_the_files_of_this_project() -> None:
    for path in sorted((ROOT / "translator").rglob("*.py"))[:120]:
        program, _ = read_program([Source(path.name, path.read_text())])
        assert training_steps(program) == ()
