"""The emitted step.py, imported into a plain loop: what `--form step` is for."""

from __future__ import annotations

from collections import deque
from types import ModuleType
from typing import Any

from contestants.lane import Lane
from contestants.task import Task


def train(task: Task, lane: Lane) -> None:
    """Train for ever; the model, the loss and the order of the data are those of train.py."""
    step, script = task.load("step"), task.script
    losses: deque[float] = deque(maxlen=100)
    if task.framework == "jax":
        state = step.start(task.state().model)
        task.describe_state(lane, state, losses)
        return run(step, script, task, lane, state, losses)
    model = task.model()
    if task.framework == "torch":
        model.to(task.torch_device)
    if task.framework != "tensorflow":
        model.train()
    arguments: list[Any] = [model, step.make_optimizer(model)]
    if task.framework == "torch":
        import torch

        arguments.append(torch.device(task.torch_device))
    if hasattr(step, "make_scaler"):
        arguments.append(step.make_scaler(*arguments[2:]))
    state = step.TrainState(*arguments)
    task.describe(lane, model, losses)
    return run(step, script, task, lane, state, losses)


def run(
    step: ModuleType,
    script: ModuleType,
    task: Task,
    lane: Lane,
    state: Any,
    losses: deque[float],
) -> None:
    """Train windows for ever."""
    for order in task.order():
        lane.next_window()
        micro = [{name: a[rows] for name, a in task.rows.items()} for rows in order]
        losses.append(step.train_window(state, micro, script.micro_batch_loss)["loss"])
