"""Models of several processes that begin with weights of their own (CL610)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

from .lint_results import code_lines, codes, swap

WORKER = """\
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 2)

    def forward(self, inputs):
        return self.last(inputs)


def average(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def work(rank, size):
    dist.init_process_group("gloo", rank=rank, world_size=size)
    model = Net().to(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, labels in loader(rank):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        average(model)
        dist.all_reduce(loss.detach())
        optimizer.step()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
"""
MADE = "    model = Net().to(rank)\n"
APART = {
    "unseeded": (),
    "seeded by the rank": ((MADE, f"    torch.manual_seed(7 + rank)\n{MADE}"),),
    "seeded too late": ((MADE, f"{MADE}    torch.manual_seed(7)\n"),),
    "seeded by a function that gets the rank": (
        (MADE, f"    prepare(7 + rank)\n{MADE}"),
        ("def work", "def prepare(number):\n    torch.manual_seed(number)\n\n\ndef work"),
    ),
    "a layer of the library": (("Net()", "nn.Linear(4, 2)"),),
    "words in a comment": ((MADE, f"    # no broadcast here\n{MADE}"),),
    "started by torchrun": (("    mp.spawn(work, args=(2,), nprocs=2)", "    work(0, 2)"),),
}
ALIKE = {
    "seeded": ((MADE, f"    torch.manual_seed(7)\n{MADE}"),),
    "seeded by a flag": ((MADE, f"    torch.manual_seed(args.seed)\n{MADE}"),),
    "seeded by a function": (
        (MADE, f"    prepare(7)\n{MADE}"),
        ("def work", "def prepare(number):\n    torch.manual_seed(number)\n\n\ndef work"),
    ),
    "broadcast": (
        (MADE, f"{MADE}    for p in model.parameters():\n        dist.broadcast(p.data, 0)\n"),
    ),
    "averaged once": (
        (MADE, f"{MADE}    for p in model.parameters():\n        dist.all_reduce(p.data)\n"),
    ),
    "wrapped": ((MADE, f"{MADE}    model = nn.parallel.DistributedDataParallel(model)\n"),),
    "loaded": ((MADE, f'{MADE}    model.load_state_dict(torch.load("a.pt"))\n'),),
    "the same for all": ((MADE, f"{MADE}    nn.init.zeros_(model.last.weight)\n"),),
    "given by the parent": (
        (MADE, ""),
        ("def work(rank, size)", "def work(rank, size, model)"),
        ("    mp.spawn(work, args=(2,)", "    model = Net()\n    mp.spawn(work, args=(2, model)"),
    ),
    "made by what is not shown": (("Net().to(rank)", "build()"),),
    "no gradients are reduced": (("dist.all_reduce(parameter.grad)", "pass"),),
}


@pytest.mark.parametrize("name", APART)
def test_weights_of_their_own(name: str) -> None:
    assert "CL610" in codes(swap(WORKER, *APART[name]))


@pytest.mark.parametrize("name", ALIKE)
def test_weights_that_are_or_may_be_the_same(name: str) -> None:
    assert "CL610" not in codes(swap(WORKER, *ALIKE[name]))


def test_it_is_said_where_the_model_is_created() -> None:
    assert "CL610:24" in code_lines(WORKER)


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
