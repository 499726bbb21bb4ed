"""Training loops of less usual kinds, with nothing wrong in them."""

from __future__ import annotations

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

LOOPS: dict[str, str] = {}

LOOPS["evaluation beside training"] = (
    HEAD
    + """
def evaluate(model, loader):
    total = 0
    with torch.no_grad():
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            total += loss
    return total / len(loader)

def train(model, loader, valid):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        schedule.step(evaluate(model, valid))
"""
)

LOOPS["policy gradient"] = (
    HEAD
    + """
policy = nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
for iteration in range(100):
    states, actions, advantages, old = collect(policy)
    for epoch in range(4):
        for index in torch.randperm(len(states)).split(64):
            ratio = (policy(states[index]).log_softmax(-1) - old[index]).exp()
            loss = -(ratio * advantages[index]).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
"""
)

LOOPS["data parallel"] = (
    HEAD
    + """
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def main(rank, dataset, valid):
    torch.distributed.init_process_group("nccl", rank=rank)
    model = DDP(nn.Linear(4, 2).to(rank), device_ids=[rank])
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, 8, sampler=sampler)
    check = DataLoader(valid, 8, sampler=DistributedSampler(valid, shuffle=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
"""
)

LOOPS["bfloat16 without a scaler"] = (
    HEAD
    + """
model = nn.Linear(4, 2).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)

LOOPS["type chosen by a flag"] = (
    HEAD
    + """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="float16", choices=["float16", "bfloat16"])
args = parser.parse_args()
dtype = {"float16": torch.float16, "bfloat16": torch.bfloat16}[args.dtype]
scaler = torch.amp.GradScaler("cuda", enabled=args.dtype == "float16")
model = nn.Linear(4, 2).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for x, y in loader:
    with torch.autocast("cuda", dtype=dtype):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
)

LOOPS["accelerate"] = (
    HEAD
    + """
from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=8)
model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(3):
    total = 0.0
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        total += loss.detach().float()
"""
)

LOOPS["fabric"] = (
    HEAD
    + """
from lightning.fabric import Fabric

fabric = Fabric(accelerator="cuda", devices=2, precision="bf16-mixed")
model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model, optimizer = fabric.setup(model, optimizer)
loader = fabric.setup_dataloaders(loader)
steps = 4
for i, (x, y) in enumerate(loader):
    accumulating = (i + 1) % steps != 0
    with fabric.no_backward_sync(model, enabled=accumulating):
        loss = F.cross_entropy(model(x), y)
        fabric.backward(loss / steps)
    if not accumulating:
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
"""
)

LOOPS["apex O1"] = (
    HEAD
    + """
from apex import amp

model = nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()
"""
)

LOOPS["paddle"] = """
import paddle

model = paddle.nn.Linear(4, 2)
optimizer = paddle.optimizer.AdamW(parameters=model.parameters(), learning_rate=1e-4)
scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
for x, y in loader:
    with paddle.amp.auto_cast(level="O1"):
        loss = paddle.nn.functional.cross_entropy(model(x), y)
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.clear_grad()
"""

LOOPS["schedules"] = (
    HEAD
    + """
from transformers import get_linear_schedule_with_warmup

model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
epochs, steps = 3, 4
total = len(loader) // steps * epochs
schedule = get_linear_schedule_with_warmup(optimizer, 100, num_training_steps=total)
decay = torch.optim.lr_scheduler.StepLR(optimizer, 1)
seen = 0
for epoch in range(epochs):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y) / steps
        loss.backward()
        seen += 1
        if seen % steps == 0:
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    decay.step()
"""
)

LOOPS["other moduli"] = (
    HEAD
    + """
model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step, (x, y) in enumerate(loader):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
    if step % 1000 == 0:
        torch.save(model.state_dict(), "model.pt")
"""
)

LOOPS["adversarial examples"] = (
    HEAD
    + """
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(7):
        loss = F.cross_entropy(model(x + delta), y)
        loss.backward()
        delta.data = (delta + 0.1 * delta.grad.sign()).clamp(-0.3, 0.3)
        delta.grad.zero_()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x + delta.detach()), y)
    loss.backward()
    optimizer.step()
"""
)

LOOPS["no_sync in a stack"] = (
    HEAD
    + """
import contextlib
from torch.nn.parallel import DistributedDataParallel

model = DistributedDataParallel(nn.Linear(4, 2).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = 4
seen = 0
for x, y in loader:
    seen += 1
    with contextlib.ExitStack() as stack:
        if seen % steps != 0:
            stack.enter_context(model.no_sync())
        loss = F.cross_entropy(model(x), y) / steps
        loss.backward()
    if seen % steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
)

LOOPS["weights of two losses"] = (
    HEAD
    + """
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
weights = {"first": 1.0, "second": 0.5}
for x, y in loader:
    out = model(x)
    losses = {"first": F.cross_entropy(out, y), "second": out.pow(2).mean()}
    loss = sum(weights[name] * value for name, value in losses.items())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history = {name: value.item() for name, value in losses.items()}
"""
)

LOOPS["folds"] = (
    HEAD
    + """
for fold in range(5):
    model = nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in folds[fold]:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
)

LOOPS["gradients in a context"] = """
import torch
import torch.distributed.autograd as dist_autograd
from torch.distributed.optim import DistributedOptimizer

optimizer = DistributedOptimizer(torch.optim.SGD, references, lr=0.1)
for x, y in loader:
    with dist_autograd.context() as context_id:
        loss = torch.nn.functional.mse_loss(model(x), y)
        dist_autograd.backward(context_id, [loss])
        optimizer.step(context_id)
"""
