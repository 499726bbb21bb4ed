"""Lightning Fabric, as its guides write a loop with gradient accumulation and clipping."""

from __future__ import annotations

from collections import deque

import torch
from lightning.fabric import Fabric
from torch.nn import functional as F

from contestants.lane import Lane
from contestants.task import Task
from contestants.torch_hand import fused_adamw, tensors

PRECISIONS = {"float32": "32-true", "float16": "16-mixed", "bfloat16": "bf16-mixed"}


def train(task: Task, lane: Lane) -> None:
    """Train for ever."""
    script = task.script
    fabric = Fabric(accelerator=task.device, devices=1, precision=PRECISIONS[task.precision])
    bare = task.model().to(task.torch_device)
    inputs, labels = tensors(task)
    losses: deque[torch.Tensor] = deque(maxlen=100)
    task.describe(lane, bare, losses)
    # Fabric refuses to clip where the optimizer takes the scale out itself.
    scaled = task.device == "gpu" and task.half == "float16"
    model, optimizer = fabric.setup(bare, fused_adamw(task, bare, fused=not scaled))
    last = task.accumulation - 1
    for window, order in enumerate(task.order()):
        lane.next_window()
        for group in optimizer.param_groups:
            group["lr"] = script.learning_rate(window)
        total = 0.0
        for number, rows in enumerate(torch.from_numpy(order).to(task.torch_device)):
            with fabric.no_backward_sync(model, enabled=number < last):
                logits = model(**{name: tensor[rows] for name, tensor in inputs.items()})
                loss = F.cross_entropy(logits.float(), labels[rows]) / task.accumulation
                fabric.backward(loss)
            total += loss.detach()
        fabric.clip_gradients(model, optimizer, max_norm=script.MAX_NORM)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(total)
