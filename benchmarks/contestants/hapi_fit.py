"""Paddle's high-level Model.fit with its own accumulation; it runs once, held by a callback."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import paddle
from paddle.nn import functional as F

from contestants.lane import Lane
from contestants.paddle_hand import paddle_adamw
from contestants.task import Task


class Rows(paddle.io.Dataset):
    """The training rows in the order of the benchmark."""

    def __init__(self, arrays: list[np.ndarray], order: np.ndarray) -> None:
        super().__init__()
        self.arrays, self.order = arrays, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, number: int) -> tuple[np.ndarray, ...]:
        row = self.order[number]
        return tuple(array[row] for array in self.arrays)


class Hold(paddle.callbacks.Callback):
    """Holds `fit` at the start of every window, sets the rate, sums the losses of a window."""

    def __init__(self, task: Task, lane: Lane, losses: deque[float]) -> None:
        super().__init__()
        self.script, self.lane, self.losses = task.script, lane, losses
        self.accumulation = task.accumulation
        self.total = 0.0

    def on_train_batch_begin(self, step: int, logs: Any = None) -> None:
        if step % self.accumulation == 0:
            self.lane.next_window()
            rate = self.script.learning_rate(step // self.accumulation)
            self.model._optimizer.set_lr(rate)
            self.total = 0.0

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        self.total += float(np.sum(logs["loss"]))
        if (step + 1) % self.accumulation == 0:
            self.losses.append(self.total)


def train(task: Task, lane: Lane) -> None:
    """Train for a long time."""
    script = task.script
    bare = task.model()
    losses: deque[float] = deque(maxlen=100)
    task.describe(lane, bare, losses)
    windows = iter(task.order())
    order = np.concatenate([next(windows).ravel() for _ in range(task.windows)])
    names = ("input_ids", "attention_mask", "token_type_ids")
    arrays = [task.rows[name] for name in names] + [task.rows["labels"].astype("int64")]

    def loss(logits: paddle.Tensor, labels: paddle.Tensor) -> paddle.Tensor:
        # fit sums the gradients of the micro-batches it accumulates.
        return F.cross_entropy(logits, labels) / task.accumulation

    inputs = [paddle.static.InputSpec([None, None], "int32", name) for name in names]
    model = paddle.Model(bare, inputs, [paddle.static.InputSpec([None], "int64", "labels")])
    model.prepare(paddle_adamw(task, bare), loss)
    model.fit(
        Rows(arrays, order),
        batch_size=script.SETTINGS.micro_batch_size,
        shuffle=False,
        verbose=0,
        accumulate_grad_batches=task.accumulation,
        callbacks=[Hold(task, lane, losses)],
    )
