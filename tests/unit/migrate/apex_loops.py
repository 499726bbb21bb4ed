"""Loops with apex.amp that tests vary."""

from __future__ import annotations

HEAD = """\
import torch
from apex import amp

model = torch.nn.Linear(4, 2).cuda()
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
START = 'model, optimizer = amp.initialize(model, optimizer, opt_level="O1")\n'
LOOP = """\
for inputs, targets in loader:
    loss = criterion(model(inputs), targets)
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
WINDOW = """\
for step, (inputs, targets) in enumerate(loader):
    loss = criterion(model(inputs), targets) / 4
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    {early}
    if (step + 1) % 4 == 0:
        {late}
        optimizer.step()
        optimizer.zero_grad()
"""


def code(start: str = START, loop: str = LOOP) -> str:
    return HEAD + start + loop


def level(arguments: str) -> str:
    return code(f"model, optimizer = amp.initialize(model, optimizer, {arguments})\n")
