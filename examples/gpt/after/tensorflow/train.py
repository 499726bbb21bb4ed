"""gpt: training for TensorFlow 2.16 or newer (Keras 3).

Written by crosscast 0.1.0 from recipe 57302b084b55a191.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only

import keras
import numpy as np
import tensorflow as tf

# isort: split
from data import eval_rows, train_rows
from model_tensorflow import build_model
from runtime.run import Run, run_training
from runtime.settings import Settings
from runtime.state import check_model, named_parameters, reseed

DTYPE_POLICY = "mixed_float16"
ACCUMULATION_STEPS = 2
LEARNING_RATE = 0.001
END_LEARNING_RATE = 0.0001
WARMUP_STEPS = 20
TOTAL_STEPS = 300
BETAS = (0.9, 0.999)
EPS = 1e-08
WEIGHT_DECAY = 0.1
GROUPS = [  # patterns, factor of the learning rate, weight decay
    (("*positions*",), 1.0, 0.0),
]
MAX_NORM = 1.0
CLIP_EPS = 1e-06
INIT_SCALE = 65536.0
GROWTH_FACTOR = 2.0
BACKOFF_FACTOR = 0.5
GROWTH_INTERVAL = 100  # clean steps before the scale grows
MIN_SCALE = 1.0
SETTINGS = Settings(
    recipe="57302b084b55a191",
    made_for="TensorFlow 2.16 or newer (Keras 3)",
    since=(2, 16),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/gpt-tensorflow",
    seed=18,
    micro_batch_size=16,
    accumulation_steps=ACCUMULATION_STEPS,
    windows=300,
    checkpoint_every=30,
    unlabelled=True,
    slots=("exp_avg", "exp_avg_sq"),
    scale=(MIN_SCALE, float("inf")),
    counts=(100, 1),
)


def row_losses(
    model: keras.Model, batch: dict[str, tf.Tensor], training: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """Cross-entropy of every row, in float32, and whether the answer is right."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    logits = tf.cast(model(inputs, training=training), tf.float32)
    labels = tf.cast(batch["labels"], tf.int64)
    known = labels != -100
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.where(known, labels, 0), logits
    )
    losses = tf.where(known, losses, 0.0)
    return losses, tf.argmax(logits, axis=-1) == labels


def micro_batch_loss(model: keras.Model, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Summed cross-entropy of the labels that are not -100 of one micro-batch."""
    losses, _ = row_losses(model, batch, training=True)
    return tf.reduce_sum(losses)


LossFunction = Callable[[keras.Model, dict[str, tf.Tensor]], tf.Tensor]


@dataclass
class LossScale:
    """The dynamic loss scale; counts clean steps in a row."""

    scale: float = INIT_SCALE
    good: int = 0

    def adjust(self, skipped: bool) -> float:
        """Take note of one optimizer step; return the scale of the next window."""
        if skipped:
            self.good = 0
            self.scale = max(float32(self.scale * BACKOFF_FACTOR), MIN_SCALE)
        else:
            self.good += 1
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
    remaining = 0.5 * (1.0 + math.cos(math.pi * progress))
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def decays(variable: keras.Variable) -> bool:
    """Whether weight decay applies to a weight, by the name Keras gives its kind."""
    # Other normalization layers have these names too (CC329).
    return variable.name not in ("bias", "beta", "gamma")


def settings(name: str, variable: keras.Variable) -> tuple[float, float]:
    """Factor of the learning rate and weight decay: those of the first group that fits."""
    usual = WEIGHT_DECAY if decays(variable) else 0.0
    for patterns, factor, decay in GROUPS:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return factor, usual if decay is None else decay
    return 1.0, usual


class AdamW:
    """AdamW in its usual form.

    The class of that name in Keras adds epsilon before the bias correction (CC322).
    """

    def __init__(
        self,
        variables: list[keras.Variable],
        settings: list[tuple[float, float]],
    ) -> None:
        """Make the moments."""
        self.variables = variables
        self.settings = settings
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
        for weight, gradient, (mean, square), (factor, decay) in zip(
            self.variables, gradients, moments, self.settings
        ):
            rate = self.learning_rate * factor
            if decay:
                weight.assign_sub(rate * decay * weight)
            mean.assign(BETAS[0] * mean + (1.0 - BETAS[0]) * gradient)
            square.assign(BETAS[1] * square + (1.0 - BETAS[1]) * gradient * gradient)
            root = tf.sqrt(square) / root_correction
            weight.assign_sub(rate * mean / correction / (root + EPS))


def make_optimizer(model: keras.Model) -> AdamW:
    """AdamW. Rate and weight decay of each weight are those of `settings`."""
    names = {id(v): name for name, v in named_parameters(model).items()}
    variables = model.trainable_variables
    return AdamW(variables, [settings(names[id(v)], v) for v in variables])


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
    # Not gradient_accumulation_steps: that drops single micro-batches (CC326).
    for total, gradient in zip(state.gradients, gradients):
        if isinstance(gradient, tf.IndexedSlices):  # rows of an embedding
            total.scatter_add(gradient)
        else:
            total.assign_add(gradient)
    return loss


@tf.function(reduce_retracing=True)
def window_step(
    state: TrainState, window_loss: tf.Tensor, scale: tf.Tensor
) -> tf.Tensor:
    """Make the step if the gradients are finite; return loss, norm and finding."""
    gradients = [total.value() for total in state.gradients]
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
        window_loss += micro_step(state, loss_fn, batch, divisor, scale)
    return window_step(state, window_loss, scale)


def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    """Make one optimizer step from the window's micro-batches; return its trace row."""
    lr = learning_rate(state.updates)
    state.optimizer.learning_rate.assign(lr)
    rows = sum(len(batch["labels"]) for batch in micro_batches)
    n_micro = len(micro_batches)
    tokens = sum(int(np.count_nonzero(b["labels"] != -100)) for b in micro_batches)
    divisor = tf.constant(max(1, tokens), tf.float32)
    scale = state.loss_scale.scale
    scale_tensor = tf.constant(scale, tf.float32)
    shapes = [{name: a.shape for name, a in b.items()} for b in micro_batches]
    if shapes == shapes[:1] * ACCUMULATION_STEPS:
        stacked = {n: np.stack([b[n] for b in micro_batches]) for n in shapes[0]}
        result = full_window(state, loss_fn, stacked, divisor, scale_tensor)
    else:  # a short window has any number and size of micro-batches
        window_loss = tf.zeros(())
        for batch in micro_batches:
            window_loss += micro_step(state, loss_fn, batch, divisor, scale_tensor)
        result = window_step(state, window_loss, scale_tensor)
    loss, grad_norm, finite = result.numpy().tolist()  # in one fetch
    skipped = not finite
    state.updates += not skipped
    state.loss_scale.adjust(skipped)  # LossScaleOptimizer knows no bounds (CC320)
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "tokens": tokens,
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
    """Mean loss and accuracy over all labels but -100."""
    loss = correct = n_labels = 0
    for batch in batches:
        n_labels += int(np.count_nonzero(batch["labels"] != -100))
        batch_loss, batch_correct = evaluate_batch(state.model, batch)
        loss += float(batch_loss)
        correct += int(batch_correct)
    n_labels = max(1, n_labels)
    return {"loss": loss / n_labels, "accuracy": correct / n_labels}


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
