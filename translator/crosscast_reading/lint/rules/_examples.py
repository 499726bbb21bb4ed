"""Small complete programs for the examples of rules."""

from __future__ import annotations

_MODEL = """\
model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
"""

PLAIN = f"""\
import torch

{_MODEL}for inputs, targets in loader:
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""
"""One update per batch, float32."""

ACCUMULATION = f"""\
import torch

{_MODEL}steps = 4
optimizer.zero_grad()
for step, (inputs, targets) in enumerate(loader):
    loss = criterion(model(inputs), targets) / steps
    loss.backward()
    if (step + 1) % steps == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""
"""Windows of four micro-batches, float32."""

EPOCHS = f"""\
import torch

{_MODEL}steps = 4
for epoch in range(3):
    optimizer.zero_grad()
    for step, (inputs, targets) in enumerate(loader):
        loss = criterion(model(inputs), targets) / steps
        loss.backward()
        if (step + 1) % steps == 0 or step + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
"""
"""Several epochs, with a step for the short last window."""

AMP = f"""\
import torch

{_MODEL}scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
"""float16 with a loss scale, one update a batch."""

AMP_ACCUMULATION = f"""\
import torch

{_MODEL}scaler = torch.amp.GradScaler("cuda")
steps = 4
optimizer.zero_grad()
for step, (inputs, targets) in enumerate(loader):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(inputs), targets) / steps
    scaler.scale(loss).backward()
    if (step + 1) % steps == 0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""
"""float16 with a loss scale, windows of four micro-batches."""

DDP = """\
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

torch.distributed.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(4, 2).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=8, sampler=sampler)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
"""
"""Data parallel training, one update per batch."""

NO_SYNC = """\
import contextlib

import torch
from torch.nn.parallel import DistributedDataParallel

torch.distributed.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(4, 2).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
steps = 4
optimizer.zero_grad()
for step, (inputs, targets) in enumerate(loader):
    last = (step + 1) % steps == 0
    with contextlib.nullcontext() if last else model.no_sync():
        loss = criterion(model(inputs), targets) / steps
        loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
"""
"""Data parallel training with windows of four micro-batches."""

SCHEDULE = f"""\
import torch

{_MODEL}schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=100)
steps = 4
optimizer.zero_grad()
for step, (inputs, targets) in enumerate(loader):
    loss = criterion(model(inputs), targets) / steps
    loss.backward()
    if (step + 1) % steps == 0:
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
"""
"""Windows of four micro-batches with a schedule per update."""

ACCELERATE = """\
import torch
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for inputs, targets in loader:
    with accelerator.accumulate(model):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""
"""Windows counted by Accelerate."""


def changed(text: str, *pairs: tuple[str, str]) -> str:
    """Return a program with parts replaced, each of which must occur once.

    Raises:
        ValueError: if a part is missing or occurs more than once.
    """
    for old, new in pairs:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times in the example")
        text = text.replace(old, new)
    return text
