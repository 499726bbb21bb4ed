"""Keras model.fit with its own accumulation, clipping and AdamW.

One call of `fit` runs over the whole benchmark: a callback holds it between two windows, so its
start-up is not measured. The data come in as arrays, as most users pass them.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import keras
import numpy as np

from contestants.lane import Lane
from contestants.task import Task
from contestants.tensorflow_hand import keras_adamw


class Inputs(keras.Model):
    """The model, called with a dictionary, as `fit` does."""

    def __init__(self, model: keras.Model) -> None:
        super().__init__(dtype="float32")
        self.model = model

    def call(self, inputs: dict[str, Any], training: bool = False) -> Any:
        return keras.ops.cast(self.model(**inputs, training=training), "float32")


class Hold(keras.callbacks.Callback):
    """Holds `fit` at the start of every window and takes the losses out of its running mean."""

    def __init__(self, lane: Lane, accumulation: int, losses: deque[float]) -> None:
        super().__init__()
        self.lane, self.accumulation, self.losses = lane, accumulation, losses
        self.sum_before = 0.0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch % self.accumulation == 0:
            self.lane.next_window()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if (batch + 1) % self.accumulation == 0:
            windows = (batch + 1) // self.accumulation
            sum_now = float(logs["loss"]) * windows
            self.losses.append(sum_now - self.sum_before)
            self.sum_before = sum_now


def train(task: Task, lane: Lane) -> None:
    """Train for a long time."""
    script = task.script
    accumulation = task.accumulation

    class Schedule(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step: Any) -> Any:
            step = keras.ops.cast(step // accumulation, "float32")  # counts micro-batches
            rate, warm_up = script.LEARNING_RATE, script.WARMUP_STEPS
            left = (script.TOTAL_STEPS - step) / (script.TOTAL_STEPS - warm_up)
            return rate * keras.ops.minimum(step / warm_up, left)

    bare = task.model()
    model = Inputs(bare)
    optimizer = keras_adamw(
        task,
        bare,
        learning_rate=Schedule(),
        global_clipnorm=script.MAX_NORM,
        gradient_accumulation_steps=accumulation,
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss)  # wraps the optimizer in a LossScaleOptimizer for float16
    losses: deque[float] = deque(maxlen=100)
    task.describe(lane, bare, losses)
    windows = iter(task.order())
    order = np.concatenate([next(windows).ravel() for _ in range(task.windows)])
    rows = {name: array[order] for name, array in task.rows.items()}
    model.fit(
        rows,
        rows.pop("labels"),
        batch_size=script.SETTINGS.micro_batch_size,
        shuffle=False,
        verbose=0,
        callbacks=[Hold(lane, accumulation, losses)],
    )
