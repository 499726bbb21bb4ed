"""paddle-xnli: training for TensorFlow 2.16 or newer (Keras 3).

Written by crosscast 0.1.0 from recipe 12c67d2021d8a1b1.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only

import keras
import numpy as np
import tensorflow as tf

# isort: split
from model import LIMITS, MAX_POSITIONS, build_model
from runtime.processes import meet
from runtime.run import Run, run_training
from runtime.settings import Settings

PROCESSES = 8
DTYPE_POLICY = "mixed_float16"
ACCUMULATION_STEPS = 1
LEARNING_RATE = 5e-05
END_LEARNING_RATE = 0.0
WARMUP_STEPS = 460
TOTAL_STEPS = 4602
BETAS = (0.9, 0.999)
EPS = 1e-08
WEIGHT_DECAY = 0.01
MAX_NORM = 1.0
CLIP_EPS = 1e-06
INIT_SCALE = 32768.0
GROWTH_FACTOR = 2.0
BACKOFF_FACTOR = 0.8
GROWTH_INTERVAL = 1000  # clean steps before the scale grows
HYSTERESIS = 2  # overflowed steps in a row before it backs off
MIN_SCALE = 1.0
SETTINGS = Settings(
    recipe="12c67d2021d8a1b1",
    made_for="TensorFlow 2.16 or newer (Keras 3)",
    since=(2, 16),
    train="data/xnli-train.npz",
    eval="data/xnli-dev.npz",
    output="runs/paddle-xnli-tensorflow",
    seed=1,
    micro_batch_size=32,
    accumulation_steps=ACCUMULATION_STEPS,
    processes=PROCESSES,
    windows=4602,
    checkpoint_every=460,
    limits=LIMITS,
    max_positions=MAX_POSITIONS,
    slots=("exp_avg", "exp_avg_sq"),
    scale=(MIN_SCALE, float("inf")),
    counts=(1000, 2),
)


def row_losses(
    model: keras.Model, batch: dict[str, tf.Tensor], training: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """Cross-entropy of every row, in float32, and whether the answer is right."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    logits = tf.cast(model(**inputs, training=training), tf.float32)
    labels = tf.cast(batch["labels"], tf.int64)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return losses, tf.argmax(logits, axis=-1) == labels


def micro_batch_loss(model: keras.Model, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Summed cross-entropy of one micro-batch."""
    losses, _ = row_losses(model, batch, training=True)
    return tf.reduce_sum(losses)


LossFunction = Callable[[keras.Model, dict[str, tf.Tensor]], tf.Tensor]


@dataclass
class LossScale:
    """The dynamic loss scale; counts clean and overflowed steps in a row."""

    scale: float = INIT_SCALE
    good: int = 0
    bad: int = 0

    def adjust(self, skipped: bool) -> float:
        """Take note of one optimizer step; return the scale of the next window."""
        if skipped:
            self.good, self.bad = 0, self.bad + 1
            if self.bad >= HYSTERESIS:
                self.bad = 0
                self.scale = max(float32(self.scale * BACKOFF_FACTOR), MIN_SCALE)
        else:
            self.good, self.bad = self.good + 1, 0
            if self.good >= GROWTH_INTERVAL:
                self.good = 0
                grown = float32(self.scale * GROWTH_FACTOR)
                if math.isfinite(grown):
                    self.scale = grown
        return self.scale


def float32(value: float) -> float:
    """Round to the type in which the framework keeps the scale."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


@dataclass(eq=False)  # the compiled functions tell states apart by identity
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    model: keras.Model
    optimizer: AdamW
    strategy: tf.distribute.Strategy
    loss_scale: LossScale = field(default_factory=LossScale)
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
    if position < WARMUP_STEPS:
        return LEARNING_RATE * position / WARMUP_STEPS
    progress = min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))
    remaining = 1.0 - progress
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def decays(variable: keras.Variable) -> bool:
    """Whether weight decay applies to a weight, by the name Keras gives its kind."""
    return variable.name not in ("bias", "beta", "gamma")


class AdamW:
    """AdamW in its usual form.

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
            if decays(weight):
                weight.assign_sub(self.learning_rate * WEIGHT_DECAY * weight)
            mean.assign(BETAS[0] * mean + (1.0 - BETAS[0]) * gradient)
            square.assign(BETAS[1] * square + (1.0 - BETAS[1]) * gradient * gradient)
            root = tf.sqrt(square) / root_correction
            weight.assign_sub(self.learning_rate * mean / correction / (root + EPS))


def make_optimizer(model: keras.Model) -> AdamW:
    """AdamW. Decoupled weight decay where `decays` says so."""
    return AdamW(model.trainable_variables)


@tf.function(reduce_retracing=True)
def micro_step(
    state: TrainState,
    loss_fn: LossFunction,
    batch: dict[str, tf.Tensor],
    divisor: tf.Tensor,
    scale: tf.Tensor,
) -> tf.Tensor:
    """Add the gradients of one micro-batch to those of the window; return its loss."""
    variables = [variable.value for variable in state.model.trainable_variables]
    with tf.GradientTape() as tape:
        # The layers compute in float16, as the dtype policy they were built with says.
        loss = tf.cast(loss_fn(state.model, batch), tf.float32)
        loss = loss / divisor
        scaled_loss = loss * scale
    gradients = tape.gradient(scaled_loss, variables, unconnected_gradients="zero")
    for total, gradient in zip(state.gradients, gradients):
        if isinstance(gradient, tf.IndexedSlices):  # rows of an embedding
            total.scatter_add(gradient)
        else:
            total.assign_add(gradient)
    return loss


@tf.function(reduce_retracing=True)
def window_step(
    state: TrainState,
    window_loss: tf.Tensor,
    gradients: list[tf.Tensor],
    scale: tf.Tensor,
) -> tf.Tensor:
    """Make the step if the gradients are finite; return loss, norm and finding."""
    gradients = [gradient / scale for gradient in gradients]
    finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in gradients])
    grad_norm = tf.linalg.global_norm(gradients)
    # Not clip_by_global_norm: no epsilon, and a norm that overflows gives nan (CC325).
    coefficient = tf.minimum(1.0, MAX_NORM / (grad_norm + CLIP_EPS))
    gradients = [gradient * coefficient for gradient in gradients]
    if finite:
        state.optimizer.apply(gradients)
    # In skipped windows, too. What Python does after this reads no gradients.
    for total in state.gradients:
        total.assign(tf.zeros_like(total))
    return tf.stack([window_loss, grad_norm, tf.cast(finite, tf.float32)])


@tf.function(reduce_retracing=True)
def mean_over_processes(
    state: TrainState, window_loss: tf.Tensor
) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Average gradients and loss over all processes, before any decision."""
    context = tf.distribute.get_replica_context()
    gradients = [tf.identity(total) for total in state.gradients]
    means = context.all_reduce("MEAN", [*gradients, tf.identity(window_loss)])
    return means[:-1], means[-1]


def reduced_step(
    state: TrainState, window_loss: tf.Tensor, scale: tf.Tensor
) -> tf.Tensor:
    """Average over all processes and make the step."""
    # Once a window, before the check: optimizers of Keras reduce too late (CC327).
    arguments = (state, window_loss)
    gradients, window_loss = state.strategy.run(mean_over_processes, arguments)
    return window_step(state, window_loss, gradients, scale)


@tf.function(reduce_retracing=True)
def full_window(
    state: TrainState,
    loss_fn: LossFunction,
    micro_batches: dict[str, tf.Tensor],
    divisor: tf.Tensor,
    scale: tf.Tensor,
) -> tf.Tensor:
    """Do all that a full window does in one call, from its micro-batches stacked."""
    window_loss = tf.zeros(())
    for i in tf.range(ACCUMULATION_STEPS):  # a loop in the graph: it is traced once
        batch = {name: array[i] for name, array in micro_batches.items()}
        arguments = (state, loss_fn, batch, divisor, scale)
        window_loss += state.strategy.run(micro_step, arguments)
    return reduced_step(state, window_loss, scale)


def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    """Make one optimizer step from the window's micro-batches; return its trace row."""
    lr = learning_rate(state.updates)
    state.optimizer.learning_rate.assign(lr)
    rows = sum(len(batch["labels"]) for batch in micro_batches)
    n_micro = len(micro_batches)
    counts = tf.constant([rows, n_micro], tf.int64)
    totals = state.strategy.reduce("SUM", counts, axis=None)
    rows, n_micro = totals.numpy().tolist()
    divisor = tf.constant(rows / PROCESSES, tf.float32)
    scale = state.loss_scale.scale
    scale_tensor = tf.constant(scale, tf.float32)
    shapes = [{name: a.shape for name, a in b.items()} for b in micro_batches]
    if shapes == shapes[:1] * ACCUMULATION_STEPS:
        stacked = {n: np.stack([b[n] for b in micro_batches]) for n in shapes[0]}
        result = full_window(state, loss_fn, stacked, divisor, scale_tensor)
    else:  # a short window has any number and size of micro-batches
        window_loss = tf.zeros(())
        for batch in micro_batches:
            arguments = (state, loss_fn, batch, divisor, scale_tensor)
            window_loss += state.strategy.run(micro_step, arguments)
        result = reduced_step(state, window_loss, scale_tensor)
    loss, grad_norm, finite = result.numpy().tolist()  # in one fetch
    skipped = not finite
    state.updates += not skipped
    state.loss_scale.adjust(skipped)  # LossScaleOptimizer knows no bounds (CC320)
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "loss": loss,
        "lr": lr,
        "grad_norm": grad_norm,
        "scale": scale,
        "skipped": skipped,
        "updates": state.updates,
    }


@tf.function(reduce_retracing=True)
def evaluate_batch(
    model: keras.Model, batch: dict[str, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Summed loss and number of right answers."""
    losses, right = row_losses(model, batch, training=False)
    return tf.reduce_sum(losses), tf.math.count_nonzero(right)


def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and accuracy over all rows."""
    loss = correct = n_rows = 0
    for batch in batches:
        n_rows += len(batch["labels"])
        batch_loss, batch_correct = evaluate_batch(state.model, batch)
        loss += float(batch_loss)
        correct += int(batch_correct)
    return {"loss": loss / n_rows, "accuracy": correct / n_rows}


def reseed(state: TrainState, rank: int) -> None:
    """Give dropout fresh random numbers that depend on the window only."""
    random = np.random.default_rng([SETTINGS.seed, state.windows, rank])
    state.model.seed.assign([random.integers(2**53), 0])


def make_state(run: Run) -> TrainState:
    """Build everything a run starts with."""
    keras.utils.set_random_seed(SETTINGS.seed)
    keras.config.set_dtype_policy(DTYPE_POLICY)  # before the layers are made
    meet()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    # TensorFlow has taken SIGTERM for itself: give it back.
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
    with strategy.scope():  # all begin with the weights of the first process
        model = build_model()
        optimizer = make_optimizer(model)
    return TrainState(model, optimizer, strategy)


def train(run: Run) -> dict[str, float]:
    """Train, and return the evaluation."""
    state = make_state(run)
    for micro_batches in run.windows(state):
        # Dropout masks do not depend on when a run was resumed.
        reseed(state, run.rank)
        row = train_window(state, micro_batches, micro_batch_loss)
        run.record(state, row)
    return run.finish(state, evaluate)


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; return the exit code."""
    return run_training(SETTINGS, train, argv)


if __name__ == "__main__":
    sys.exit(main())
