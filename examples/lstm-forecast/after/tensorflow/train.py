"""lstm-forecast: training for TensorFlow 2.16 or newer (Keras 3).

Written by crosscast 0.1.0 from recipe ea6dcc5c030bb926.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only

import keras
import numpy as np
import tensorflow as tf

# isort: split
from data import eval_rows, train_rows
from model_tensorflow import absolute_errors as metric_mae
from model_tensorflow import build_model
from runtime.run import Run, run_training
from runtime.settings import Settings
from runtime.state import check_model, reseed

DTYPE_POLICY = "float32"
ACCUMULATION_STEPS = 1
TARGET = "future"
LEARNING_RATE = 0.003
END_LEARNING_RATE = 0.0
TOTAL_STEPS = 200
BETAS = (0.9, 0.999)
EPS = 1e-08
MAX_VALUE = 0.1
METRICS = {"mae": metric_mae}
SETTINGS = Settings(
    recipe="ea6dcc5c030bb926",
    made_for="TensorFlow 2.16 or newer (Keras 3)",
    since=(2, 16),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/lstm-forecast-tensorflow",
    seed=18,
    micro_batch_size=32,
    accumulation_steps=ACCUMULATION_STEPS,
    windows=200,
    checkpoint_every=20,
    target=TARGET,
    classes=False,
    slots=("exp_avg", "exp_avg_sq"),
)


def row_losses(
    model: keras.Model, batch: dict[str, tf.Tensor], training: bool
) -> tf.Tensor:
    """Squared error of every row, the mean over its elements, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != TARGET}
    targets = tf.cast(batch[TARGET], tf.float32)
    outputs = tf.cast(model(inputs, training=training), tf.float32)
    outputs = tf.ensure_shape(outputs, targets.shape)  # others would be broadcast
    losses = tf.math.squared_difference(outputs, targets)
    return tf.reduce_mean(losses, axis=list(range(1, losses.shape.rank)))


def micro_batch_loss(model: keras.Model, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Summed squared error of one micro-batch."""
    losses = row_losses(model, batch, training=True)
    return tf.reduce_sum(losses)


LossFunction = Callable[[keras.Model, dict[str, tf.Tensor]], tf.Tensor]


@dataclass(eq=False)  # the compiled functions tell states apart by identity
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    model: keras.Model
    optimizer: Adam
    windows: int = 0
    updates: int = 0

    def __post_init__(self) -> None:
        """Make room for the gradients of a window, summed in float32."""
        self.gradients = zeros(self.model.trainable_variables)


def zeros(variables: list[keras.Variable]) -> list[tf.Variable]:
    """Make float32 variables of these shapes."""
    return [tf.Variable(tf.zeros(v.shape), trainable=False) for v in variables]


def learning_rate(position: int) -> float:
    """Rate of one optimizer step; `position` counts from 0."""
    progress = min(1.0, position / TOTAL_STEPS)
    remaining = 1.0 - progress
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


class Adam:
    """Adam in its usual form.

    The class of that name in Keras adds epsilon before the bias correction (CC322).
    """

    def __init__(self, variables: list[keras.Variable]) -> None:
        """Make the moments."""
        self.variables = variables
        self.learning_rate = tf.Variable(LEARNING_RATE, trainable=False)
        self.iterations = tf.Variable(0, trainable=False, dtype=tf.int64)
        self.exp_avg = zeros(variables)
        self.exp_avg_sq = zeros(variables)

    def apply(self, gradients: list[tf.Tensor]) -> None:
        """Update moments and weights."""
        t = tf.cast(self.iterations.assign_add(1), tf.float64)
        correction = tf.cast(1.0 - BETAS[0] ** t, tf.float32)
        root_correction = tf.cast(tf.sqrt(1.0 - BETAS[1] ** t), tf.float32)
        moments = zip(self.exp_avg, self.exp_avg_sq)
        for weight, gradient, (mean, square) in zip(self.variables, gradients, moments):
            mean.assign(BETAS[0] * mean + (1.0 - BETAS[0]) * gradient)
            square.assign(BETAS[1] * square + (1.0 - BETAS[1]) * gradient * gradient)
            root = tf.sqrt(square) / root_correction
            weight.assign_sub(self.learning_rate * mean / correction / (root + EPS))


def make_optimizer(model: keras.Model) -> Adam:
    """Adam. No weight decay."""
    return Adam(model.trainable_variables)


@tf.function(reduce_retracing=True)
def micro_step(
    state: TrainState,
    loss_fn: LossFunction,
    batch: dict[str, tf.Tensor],
    divisor: tf.Tensor,
) -> tf.Tensor:
    """Add the gradients of one micro-batch to those of the window; return its loss."""
    variables = [variable.value for variable in state.model.trainable_variables]
    with tf.GradientTape() as tape:
        loss = loss_fn(state.model, batch)
        loss = loss / divisor
    gradients = tape.gradient(loss, variables, unconnected_gradients="zero")
    for total, gradient in zip(state.gradients, gradients):
        if isinstance(gradient, tf.IndexedSlices):  # rows of an embedding
            total.scatter_add(gradient)
        else:
            total.assign_add(gradient)
    return loss


@tf.function(reduce_retracing=True)
def window_step(state: TrainState, window_loss: tf.Tensor) -> tf.Tensor:
    """Make one optimizer step; return the loss and the norm of the gradients."""
    gradients = [total.value() for total in state.gradients]
    grad_norm = tf.linalg.global_norm(gradients)
    gradients = [tf.clip_by_value(g, -MAX_VALUE, MAX_VALUE) for g in gradients]
    state.optimizer.apply(gradients)
    # In skipped windows, too. What Python does after this reads no gradients.
    for total in state.gradients:
        total.assign(tf.zeros_like(total))
    return tf.stack([window_loss, grad_norm])


@tf.function(reduce_retracing=True)
def full_window(
    state: TrainState,
    loss_fn: LossFunction,
    micro_batches: dict[str, tf.Tensor],
    divisor: tf.Tensor,
) -> tf.Tensor:
    """Do all that a full window does in one call, from its micro-batches stacked."""
    window_loss = tf.zeros(())
    for i in tf.range(ACCUMULATION_STEPS):  # a loop in the graph: it is traced once
        batch = {name: array[i] for name, array in micro_batches.items()}
        window_loss += micro_step(state, loss_fn, batch, divisor)
    return window_step(state, window_loss)


def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    """Make one optimizer step from the window's micro-batches; return its trace row."""
    lr = learning_rate(state.updates)
    state.optimizer.learning_rate.assign(lr)
    rows = sum(len(batch[TARGET]) for batch in micro_batches)
    n_micro = len(micro_batches)
    divisor = tf.constant(rows, tf.float32)
    shapes = [{name: a.shape for name, a in b.items()} for b in micro_batches]
    if shapes == shapes[:1] * ACCUMULATION_STEPS:
        stacked = {n: np.stack([b[n] for b in micro_batches]) for n in shapes[0]}
        result = full_window(state, loss_fn, stacked, divisor)
    else:  # a short window has any number and size of micro-batches
        window_loss = tf.zeros(())
        for batch in micro_batches:
            window_loss += micro_step(state, loss_fn, batch, divisor)
        result = window_step(state, window_loss)
    loss, grad_norm = result.numpy().tolist()  # in one fetch
    state.updates += 1
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "loss": loss,
        "lr": lr,
        "grad_norm": grad_norm,
        "updates": state.updates,
    }


def metric_sums(model: keras.Model, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Sum of every metric over the rows of a micro-batch, in float64."""
    sums = []
    for name, metric in METRICS.items():
        values = tf.cast(metric(model, dict(batch)), tf.float64)
        values = tf.ensure_shape(values, [None])
        rows = tf.shape(next(iter(batch.values())))[0]
        message = f"{name}: not one number per row"
        tf.debugging.assert_equal(tf.size(values), rows, message)
        sums.append(tf.reduce_sum(values))
    return tf.stack(sums)


@tf.function(reduce_retracing=True)
def evaluate_batch(
    model: keras.Model, batch: dict[str, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Summed loss, and sums of the metrics."""
    sums = metric_sums(model, batch)
    return tf.reduce_sum(row_losses(model, batch, training=False)), sums


def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and metrics over all rows."""
    loss, n_rows = 0.0, 0
    sums = np.zeros(len(METRICS))
    for batch in batches:
        n_rows += len(batch[TARGET])
        batch_loss, batch_sums = evaluate_batch(state.model, batch)
        loss += float(batch_loss)
        sums += batch_sums.numpy()
    metrics = dict(zip(METRICS, (sums / n_rows).tolist(), strict=True))
    return {"loss": loss / n_rows} | metrics


def make_state(run: Run) -> TrainState:
    """Build everything a run starts with."""
    keras.utils.set_random_seed(SETTINGS.seed)
    keras.config.set_dtype_policy(DTYPE_POLICY)  # before the layers are made
    with tf.device(run.device):
        model = build_model()
        check_model(model)
        return TrainState(model, make_optimizer(model))


def train(run: Run) -> dict[str, float]:
    """Train, and return the evaluation."""
    state = make_state(run)
    for micro_batches in run.windows(state):
        # Dropout masks do not depend on when a run was resumed.
        reseed(state.model, SETTINGS.seed, state.windows)
        row = train_window(state, micro_batches, micro_batch_loss)
        run.record(state, row)
    return run.finish(state, evaluate)


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; return the exit code."""
    return run_training(SETTINGS, train, argv)


if __name__ == "__main__":
    sys.exit(main())
