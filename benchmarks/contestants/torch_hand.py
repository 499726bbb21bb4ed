"""PyTorch by hand, as lean as it gets: fused AdamW, tensors made once, compiled or not."""

from __future__ import annotations

from collections import deque
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn import functional as F

from contestants.lane import Lane
from contestants.task import Task


def fused_adamw(task: Task, model: nn.Module, fused: bool = True) -> torch.optim.AdamW:
    """Return the optimizer; biases and LayerNorm do not decay."""
    script, named = task.script, dict(model.named_parameters())
    exempt = {n for n in named if n.endswith("bias") or "LayerNorm" in n}
    groups = [
        {"params": [p for n, p in named.items() if n not in exempt]},
        {"params": [p for n, p in named.items() if n in exempt], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups, script.LEARNING_RATE, script.BETAS, script.EPS, script.WEIGHT_DECAY, fused=fused
    )


def tensors(task: Task) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Return all inputs and all labels as tensors on the device."""
    inputs = {
        name: torch.from_numpy(array).to(task.torch_device) for name, array in task.rows.items()
    }
    return inputs, inputs.pop("labels").long()


def train(task: Task, lane: Lane, compiled: bool = False) -> None:
    """Train for ever."""
    script, half = task.script, task.half
    model = task.model().to(task.torch_device)
    if compiled:
        model.compile()
    optimizer = fused_adamw(task, model)
    parameters = list(model.parameters())
    scaler = (
        torch.amp.GradScaler(task.torch_device, script.INIT_SCALE) if half == "float16" else None
    )
    autocast = torch.autocast(task.torch_device, getattr(torch, half)) if half else nullcontext()
    inputs, labels = tensors(task)
    losses: deque[torch.Tensor] = deque(maxlen=100)
    task.describe(lane, model, losses)
    for window, order in enumerate(task.order()):
        lane.next_window()
        for group in optimizer.param_groups:
            group["lr"] = script.learning_rate(window)
        total = 0.0
        for rows in torch.from_numpy(order).to(task.torch_device):
            with autocast:
                logits = model(**{name: tensor[rows] for name, tensor in inputs.items()})
            loss = F.cross_entropy(logits.float(), labels[rows]) / task.accumulation
            (scaler.scale(loss) if scaler else loss).backward()
            total += loss.detach()
        if scaler:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(parameters, script.MAX_NORM)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad()
        losses.append(total)
