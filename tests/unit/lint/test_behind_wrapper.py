"""Attributes of models that are asked of the wrapper around them (CL608)."""

from __future__ import annotations

import pytest

from .lint_results import codes

WRAPPED = """
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(args, loader, rank):
    model = Net(args.width)
    print(model.table)
    {wrap}
    optimizer = torch.optim.SGD(model.parameters(), lr=args.rate)
    for step, (x, y) in enumerate(loader):
        loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {use}
"""
ALWAYS = "model = DDP(model)"
SOME = "if args.several: model = DDP(model, device_ids=[rank])"

USED = "use = args.several\n    if use: model = DDP(model)"
ASKED = "use = several(args)\n    if use: model = DDP(model)"


@pytest.mark.parametrize(
    ("wrap", "use", "found"),
    [
        (ALWAYS, "print(model.table.norm())", True),
        (ALWAYS, "if step % 10 == 0: model.show()", True),
        (ALWAYS, "if args.verbose: print(model.table)", True),
        (SOME, "print(model.table)", True),
        (SOME, "if step > args.first: print(model.table)", True),
        (SOME, "if args.several: print(model.table)", True),
        ("model = torch.nn.DataParallel(model)", "print(model.table)", True),
        (ALWAYS, "print(model.module.table)", False),
        (ALWAYS, "model.train()", False),
        (ALWAYS, "if hasattr(model, 'table'): print(model.table)", False),
        (ALWAYS, "if isinstance(model, Net): print(model.table)", False),
        (SOME, "if not args.several: print(model.table)", False),
        (SOME, "if rank < 0: print(model.table)", False),
        (SOME, "print(x.table)", False),
        (SOME, "if not (args.several and step): print(model.table)", True),
        (USED, "if not args.several: print(model.table)", False),
        (USED, "if args.verbose: print(model.table)", True),
        (ASKED, "if args.cpu: print(model.table)", False),
        (ASKED, "if step % args.every == 0: print(model.table)", True),
        (ASKED, "if args.cpu and step: print(model.table)", False),
        ("model = DDP(model)\n    if args.plain: model = Net(3)", "print(model.table)", False),
        ("wrapped = DDP(model)", "print(model.table)", False),
        ("wrapped = DDP(model)", "print(wrapped.table)", True),
        ("model = DDP(model); model = Proxy(model)", "print(model.table)", False),
        ("model = DDP(model)\n    if args.cuda: model = model", "print(model.table)", True),
        ("model = DDP(model); model.table = 3", "print(model.table)", False),
        ("model = Own(model)", "print(model.table)", False),
    ],
)
def test_attributes_behind_wrappers(wrap: str, use: str, found: bool) -> None:
    assert ("CL608" in codes(WRAPPED.format(wrap=wrap, use=use))) is found


def test_a_wrapper_of_paddle() -> None:
    text = """
import paddle

model = Net()
if len(devices) > 1:
    model = paddle.DataParallel(model)
for x, y in loader:
    loss = model(x, y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    log(model.{name})
"""
    assert "CL608" in codes(text.format(name="table"))
    assert "CL608" not in codes(text.format(name="_layers.table"))
    assert "CL608" not in codes(text.format(name="sublayers()"))
