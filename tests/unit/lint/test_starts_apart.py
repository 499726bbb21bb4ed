"""Programs beside others: processes of Paddle that begin apart (CL610), and the one that starts."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from reading_helpers.lint_results import codes, swap


def test_in_paddle() -> None:
    text = """\
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
model = paddle.nn.Linear(4, 2)
optimizer = paddle.optimizer.SGD(parameters=model.parameters())
for inputs, labels in loader:
    loss = paddle.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    optimizer.step()
    optimizer.clear_grad()
"""
    found = [r for r in lint_sources([Source("train.py", text)]) if r.code == "CL610"]
    assert [r.hint and "paddle.seed" in r.hint for r in found] == [True]
    seeded = swap(text, ("model = ", "paddle.seed(3)\nmodel = "))
    assert "CL610" not in codes(seeded)


def test_settings_of_every_program_are_read() -> None:
    """A launch script beside two programs is linted with the one that it starts."""
    train = "import torch\n" + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    train += "for batch in loader:\n    optimizer.zero_grad()\n    model(batch).sum().backward()\n"
    train += "    optimizer.step()\n"
    flags = "import argparse\nparser = argparse.ArgumentParser()\n"
    flags += 'parser.add_argument("--lr", type=float)\nargs = parser.parse_args()\n'
    start = Source("run.sh", "torchrun --nproc_per_node 2 b.py --fp16\n")
    alone = lint_sources([Source("b.py", flags + train), start])
    assert any(result.span is not None and result.span.file == "run.sh" for result in alone)
    both = lint_sources(
        [Source("a.py", "import b\n" + train), Source("b.py", flags + train), start]
    )
    of_script = {(r.code, r.message) for r in alone if r.span and r.span.file == "run.sh"}
    assert of_script <= {(r.code, r.message) for r in both}
