"""The hint about processes of Paddle that begin with weights of their own (CL610)."""

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
