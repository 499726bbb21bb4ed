"""Paddle by hand: a dygraph loop, the tensors made once, clipping inside the optimizer."""

from __future__ import annotations

from collections import deque
from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional as F

from contestants.lane import Lane
from contestants.task import Task


def paddle_adamw(task: Task, model: nn.Layer) -> paddle.optimizer.AdamW:
    """Return the optimizer; biases and LayerNorm do not decay."""
    script = task.script
    exempt = {
        parameter.name
        for name, parameter in model.named_parameters()
        if name.endswith("bias") or "LayerNorm" in name
    }
    (beta1, beta2) = script.BETAS
    return paddle.optimizer.AdamW(
        script.LEARNING_RATE,
        beta1,
        beta2,
        script.EPS,
        parameters=model.parameters(),
        weight_decay=script.WEIGHT_DECAY,
        apply_decay_param_fun=lambda name: name not in exempt,
        grad_clip=nn.ClipGradByGlobalNorm(script.MAX_NORM),
    )


def train(task: Task, lane: Lane) -> None:
    """Train for ever."""
    script = task.script
    model = task.model()
    model.train()
    optimizer = paddle_adamw(task, model)
    answers = task.rows["labels"].astype("int64")
    inputs = {name: array for name, array in task.rows.items() if name != "labels"}
    losses: deque[Any] = deque(maxlen=100)
    task.describe(lane, model, losses)
    for window, order in enumerate(task.order()):
        lane.next_window()
        optimizer.set_lr(script.learning_rate(window))
        total = 0.0
        for rows in order:
            micro = {name: paddle.to_tensor(array[rows]) for name, array in inputs.items()}
            labels = paddle.to_tensor(answers[rows])
            loss = F.cross_entropy(model(**micro), labels) / task.accumulation
            loss.backward()
            total += loss.detach()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(total)
