"""Accelerate, as its guides write a loop with gradient accumulation and clipping.

It is fed with the tensors of the hand-written loop, so a prepared DataLoader is not part of what
is measured. float16 on a CPU is silently float32 there.
"""

from __future__ import annotations

from collections import deque

import torch
from accelerate import Accelerator
from torch.nn import functional as F

from contestants.lane import Lane
from contestants.task import Task
from contestants.torch_hand import fused_adamw, tensors

PRECISIONS = {"float32": "no", "float16": "fp16", "bfloat16": "bf16"}


def train(task: Task, lane: Lane) -> None:
    """Train for ever."""
    script = task.script
    accelerator = Accelerator(
        cpu=task.device == "cpu",
        mixed_precision=PRECISIONS[task.precision],
        gradient_accumulation_steps=task.accumulation,
    )
    bare = task.model().to(task.torch_device)
    inputs, labels = tensors(task)
    losses: deque[torch.Tensor] = deque(maxlen=100)
    task.describe(lane, bare, losses)
    optimizer = fused_adamw(task, bare)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda window: script.learning_rate(window) / script.LEARNING_RATE
    )
    model, optimizer, schedule = accelerator.prepare(bare, optimizer, schedule)
    for order in task.order():
        lane.next_window()
        total = 0.0
        for rows in torch.from_numpy(order).to(task.torch_device):
            with accelerator.accumulate(model):
                logits = model(**{name: tensor[rows] for name, tensor in inputs.items()})
                loss = F.cross_entropy(logits.float(), labels[rows])
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), script.MAX_NORM)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            total += loss.detach()
        losses.append(total / task.accumulation)
