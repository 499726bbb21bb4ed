"""paddle-xnli: training for TensorFlow 2.16 or newer (Keras 3).

Written by crosscast 0.1.0 from recipe 12c67d2021d8a1b1.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only

import keras
import numpy as np
import tensorflow as tf
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

# isort: split
from model import LIMITS, MAX_POSITIONS, build_model, exchange_layout, named_parameters

MADE_FOR = "TensorFlow 2.16 or newer (Keras 3)"
RECIPE = "12c67d2021d8a1b1"
SEED = 1
MICRO_BATCH_SIZE = 32
ACCUMULATION_STEPS = 1
PROCESSES = 8
GLOBAL_BATCH_SIZE = MICRO_BATCH_SIZE * ACCUMULATION_STEPS * PROCESSES
WINDOWS = 4602
TRAIN_DATA = "data/xnli-train.npz"
EVAL_DATA = "data/xnli-dev.npz"
OUTPUT = "runs/paddle-xnli-tensorflow"
DTYPE_POLICY = "mixed_float16"
START_SECONDS = 180  # for the other processes to come
PATIENCE = 25  # overflowed windows in a row at the lowest scale before the run stops

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
MAX_SCALE = math.inf

Batch = dict[str, np.ndarray]


class Stop(Exception):
    """End of the run with a status, an exit code and a message for the user."""

    def __init__(self, status: str, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.exit_code = status, exit_code


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--train", type=Path, default=TRAIN_DATA, help="training rows, npz")
    add("--eval", type=Path, default=EVAL_DATA, help="evaluation rows, npz")
    add("--weights", type=Path, help="initial weights, safetensors")
    add("--output", type=Path, default=OUTPUT, help="folder for results")
    add("--resume", action="store_true", help="go on from the checkpoint")
    add("--windows", type=positive, default=WINDOWS, help="windows to train")
    add("--checkpoint-every", type=positive, default=460, help="in windows")
    add("--log-every", type=positive, default=10, help="in windows")
    add("--device", choices=("auto", "cpu", "gpu"), default="auto")
    add("--threads", type=threads, help="CPU threads")
    return parser.parse_args(argv)


def positive(text: str) -> int:
    """Parse a positive integer."""
    value = int(text)
    if not 0 < value < 2**31:
        raise ValueError(text)
    return value


def threads(text: str) -> int:
    """Parse a number of threads that a system may start."""
    if not 0 < int(text) <= 4096:
        raise ValueError(text)
    return int(text)


def read_rows(path: Path) -> Batch:
    """Read the arrays of an npz file that the model takes, and `labels`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names = [name for name in file.files if name in LIMITS]
            rows = {name: np.asarray(file[name]) for name in names}
    except Exception as error:  # a damaged file raises any
        raise Stop("failed", 2, f"cannot read {path}: {error}") from error
    if len(rows) < len(names):
        raise Stop("failed", 2, f"{path}: two arrays have the same name")
    sizes = {len(array) if array.ndim else 0 for array in rows.values()}
    if "labels" not in rows or len(sizes) != 1 or 0 in sizes:
        needs = "`labels` and arrays of equal length, of one row at least"
        raise Stop("failed", 2, f"{path}: needs {needs}")
    return model_rows(path, rows)


def model_rows(path: Path, rows: Batch) -> Batch:
    """Return the arrays that the model takes, having looked at every value."""
    tokens = rows.get("input_ids", rows["labels"]).shape
    if len(tokens) != 2 or not 0 < tokens[1] <= MAX_POSITIONS:
        shape = f"[rows, tokens], of 1 to {MAX_POSITIONS} tokens"
        raise Stop("failed", 2, f"{path}: needs `input_ids` {shape}")
    for name, limit in LIMITS.items():
        array = rows.get(name, np.zeros(()))
        right = array.shape == (tokens[:1] if name == "labels" else tokens)
        if not right or array.dtype.kind not in "biu":
            kind = "an integer for every " + ("row" if name == "labels" else "token")
            raise Stop("failed", 2, f"{path}: needs `{name}`, {kind}")
        if array.min() < 0 or array.max() >= limit:
            raise Stop("failed", 2, f"{path}: `{name}` must be from 0 to {limit - 1}")
    # Frameworks read other integers differently: uint16 is bfloat16 to Paddle.
    return {name: rows[name].astype(np.int64, copy=False) for name in LIMITS}


@lru_cache(maxsize=2)
def epoch_order(n_rows: int, epoch: int) -> np.ndarray:
    """Order of the training rows in one epoch, the same on every framework."""
    return np.random.default_rng([SEED, epoch]).permutation(n_rows)


def batches(rows: Batch, start: int = 0) -> Iterator[list[Batch]]:
    """Yield windows of micro-batches for ever, from window number `start` on."""
    n_rows = len(rows["labels"])
    # A short last window counts, unless some process would get no row of it.
    per_epoch = n_rows // GLOBAL_BATCH_SIZE + (n_rows % GLOBAL_BATCH_SIZE >= PROCESSES)
    if not per_epoch:
        raise Stop("failed", 2, f"{n_rows} rows are too few for {PROCESSES} processes")
    for window in itertools.count(start):
        epoch, index = divmod(window, per_epoch)
        first = index * GLOBAL_BATCH_SIZE
        chosen = epoch_order(n_rows, epoch)[first : first + GLOBAL_BATCH_SIZE]
        chosen = chosen[process_rank() :: PROCESSES]
        cuts = range(MICRO_BATCH_SIZE, len(chosen), MICRO_BATCH_SIZE)
        micro = np.split(chosen, cuts)
        yield [{name: a[index] for name, a in rows.items()} for index in micro]


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
                    self.scale = min(grown, MAX_SCALE)
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
    stuck: int = 0

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
    """Make one step if the gradients are finite; return loss, norm and finding."""
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


def model_arrays(state: TrainState) -> dict[str, np.ndarray]:
    """Weights by canonical name, in the canonical layout."""
    return {
        name: exchange_layout(name, variable.numpy())
        for name, variable in named_parameters(state.model).items()
    }


def restore_model(state: TrainState, arrays: dict[str, np.ndarray]) -> None:
    """Overwrite the weights."""
    for name, variable in named_parameters(state.model).items():
        variable.assign(exchange_layout(name, arrays[name]))


def moments(state: TrainState) -> Iterator[tuple[str, str, keras.Variable]]:
    """Yield the optimizer's own variables as slot, name of the weight, variable."""
    names = {id(v): name for name, v in named_parameters(state.model).items()}
    for slot in ("exp_avg", "exp_avg_sq"):
        variables = getattr(state.optimizer, slot)
        for weight, variable in zip(state.model.trainable_variables, variables):
            yield slot, names[id(weight)], variable


def optimizer_arrays(state: TrainState) -> dict[str, np.ndarray]:
    """Moments as `slot/name`, in the canonical layout."""
    return {
        f"{slot}/{name}": exchange_layout(name, variable.numpy())
        for slot, name, variable in moments(state)
    }


def restore_optimizer(state: TrainState, arrays: dict[str, np.ndarray]) -> None:
    """Overwrite the moments and the number of past updates."""
    state.optimizer.iterations.assign(state.updates)
    for slot, name, variable in moments(state):
        if f"{slot}/{name}" in arrays:
            variable.assign(exchange_layout(name, arrays[f"{slot}/{name}"]))


def scaler_counters(state: TrainState) -> dict[str, Any]:
    """The loss scale and its counters."""
    machine = state.loss_scale
    return {"scale": machine.scale, "good": machine.good, "bad": machine.bad}


def restore_scaler(state: TrainState, counters: dict[str, Any]) -> None:
    """Overwrite the loss scale and its counters."""
    scale, good, bad = counters["scale"], counters["good"], counters["bad"]
    state.loss_scale = LossScale(scale, good, bad)


def reseed(state: TrainState) -> None:
    """Give dropout fresh random numbers that depend on the window only."""
    random = np.random.default_rng([SEED, state.windows, process_rank()])
    state.model.seed.assign([random.integers(2**53), 0])


def save_arrays(path: Path, arrays: dict[str, np.ndarray], **metadata: Any) -> None:
    """Write a safetensors file whole or not at all."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    folder = path.with_suffix(".saving")  # of what a killed save leaves, too
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    partial = folder / path.name
    save_file(arrays, partial, {key: json.dumps(metadata[key]) for key in metadata})
    partial.chmod(folder.stat().st_mode & 0o666)  # save_file lets only the user read
    os.replace(partial, path)
    folder.rmdir()


def save_checkpoint(path: Path, state: TrainState, n_rows: int) -> None:
    """Write weights, optimizer moments and every counter; enough to resume exactly."""
    arrays = {f"model/{name}": array for name, array in model_arrays(state).items()}
    arrays |= {f"optimizer/{name}": a for name, a in optimizer_arrays(state).items()}
    counters = {"windows": state.windows, "updates": state.updates, "rows": n_rows}
    counters["stuck"] = state.stuck
    counters |= scaler_counters(state)
    save_arrays(path, arrays, recipe=RECIPE, counters=counters)


def load_checkpoint(path: Path, state: TrainState, n_rows: int) -> None:
    """Continue from a checkpoint of the same recipe, with the same training rows."""
    arrays, metadata = read_arrays(path)
    if metadata.get("recipe") != json.dumps(RECIPE):
        raise Stop("failed", 2, f"{path} was written by another recipe")
    counters = read_counters(path, metadata.get("counters", ""), n_rows)
    weights = model_arrays(state)
    wanted = {f"model/{name}": array for name, array in weights.items()}
    held = {key.split("/", 2)[-1] for key in arrays if key.startswith("optimizer/")}
    if held or counters["updates"]:  # before the first update there may be none
        held = set(weights)
    for name in held & set(weights):
        weight = weights[name]
        for slot in ("exp_avg", "exp_avg_sq"):
            wanted[f"optimizer/{slot}/{name}"] = np.zeros(weight.shape, weight.dtype)
    check_arrays(path, arrays, wanted)
    unknown = sorted(arrays.keys() - wanted.keys())
    if unknown:
        raise Stop("failed", 2, f"{path}: {', '.join(unknown[:5])} fits no weight")
    for key, array in arrays.items():
        slot = key.removeprefix("optimizer/").partition("/")[0]
        if slot in ("exp_avg_sq",) and (array < 0).any():
            raise Stop("failed", 2, f"{path}: {key}, a mean of squares, is negative")
    state.windows, state.updates = counters["windows"], counters["updates"]
    state.stuck = counters["stuck"]
    restore_model(state, {name: arrays[f"model/{name}"] for name in weights})
    moments = {k[10:]: v for k, v in arrays.items() if k.startswith("optimizer/")}
    restore_optimizer(state, moments)
    restore_scaler(state, counters)


def read_counters(path: Path, text: str, n_rows: int) -> dict[str, Any]:
    """Read the counters of a checkpoint, with values that a run can have saved."""
    try:
        counters = json.loads(text)
        windows = counters.get("windows")
    except (AttributeError, RecursionError, ValueError):
        raise Stop("failed", 2, f"{path} is damaged: it has no counters") from None
    limits: dict[str, tuple[Any, Any]] = {
        "windows": (0, 2**31 - 1),
        "updates": (0, windows),
        "stuck": (0, windows),
        "good": (0, windows),
        "bad": (0, windows),
        "scale": (MIN_SCALE, float(np.finfo(np.float32).max)),
        "rows": (1, 2**31 - 1),
    }
    counters.setdefault("rows", n_rows)
    for name, (least, most) in limits.items():
        value = counters.get(name)
        whole = type(value) is int or name == "scale" and type(value) is float
        if not whole or not least <= value <= most:
            right = f"{name} must be a number from {least} to {most}"
            raise Stop("failed", 2, f"{path} is damaged: {right}")
    # With another number of rows the window number means another place in the data.
    if counters["rows"] != n_rows:
        there = f"{counters['rows']} training rows, not {n_rows}"
        raise Stop("failed", 2, f"{path} was written with {there}")
    return counters | {"scale": float(counters["scale"])}


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read a safetensors file: its arrays by name, and its metadata."""
    try:
        with safe_open(path, framework="np") as file:
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
            return arrays, file.metadata() or {}
    except (AttributeError, OSError, TypeError, ValueError, SafetensorError) as error:
        raise Stop("failed", 2, f"cannot read {path}: {error}") from None


def load_weights(path: Path, state: TrainState) -> None:
    """Load weights by their canonical names; a new classifier may be missing."""
    arrays, _ = read_arrays(path)
    # Early BERT files name the parameters of LayerNorm gamma and beta.
    old = {".gamma": ".weight", ".beta": ".bias"}
    for suffix, new in old.items():
        for name in [name for name in arrays if name.endswith(suffix)]:
            arrays[name.removesuffix(suffix) + new] = arrays.pop(name)
    wanted = model_arrays(state)
    fresh = [n for n in wanted if n.startswith("classifier.") and n not in arrays]
    arrays |= {name: wanted[name] for name in fresh}
    for name in wanted.keys() & arrays.keys():
        array, dtype = arrays[name], wanted[name].dtype
        if array.dtype.kind in "fV":  # V: bfloat16, where NumPy knows it
            with np.errstate(over="ignore"):
                arrays[name] = array.astype(dtype)
    check_arrays(path, arrays, wanted)
    if fresh:
        print(f"new weights for {', '.join(fresh)}")
    restore_model(state, {name: arrays[name] for name in wanted})


def check_arrays(
    path: Path, arrays: dict[str, np.ndarray], wanted: dict[str, np.ndarray]
) -> None:
    """Refuse arrays of another name, shape or type, or that are not finite."""
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise Stop("failed", 2, f"{path} lacks {', '.join(missing[:5])}")
    for name, like in wanted.items():
        array = arrays[name]
        if (array.dtype, array.shape) != (like.dtype, like.shape):
            there = f"{array.dtype} {array.shape}, not {like.dtype} {like.shape}"
            raise Stop("failed", 2, f"{path}: {name} is {there}")
        if not np.isfinite(array).all():
            raise Stop("failed", 2, f"{path}: {name} is not finite")


@tf.function(reduce_retracing=True)
def evaluate_batch(
    model: keras.Model, batch: dict[str, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Summed loss and number of right answers."""
    losses, right = row_losses(model, batch, training=False)
    return tf.reduce_sum(losses), tf.math.count_nonzero(right)


def evaluate(state: TrainState, rows: Batch) -> dict[str, float]:
    """Mean loss and accuracy over all rows."""
    n_rows = len(rows["labels"])
    loss = correct = 0.0
    for i in range(0, n_rows, MICRO_BATCH_SIZE):
        batch = {name: array[i : i + MICRO_BATCH_SIZE] for name, array in rows.items()}
        batch_loss, batch_correct = evaluate_batch(state.model, batch)
        loss += float(batch_loss)
        correct += int(batch_correct)
    return {"loss": loss / n_rows, "accuracy": correct / n_rows}


def cluster() -> tuple[list[str], int]:
    """Addresses of all processes and number of this one, as TF_CONFIG says."""
    try:
        config = json.loads(os.environ.get("TF_CONFIG", "{}"))
        # Of one kind: a chief or an evaluator would do something else.
        (workers,) = config["cluster"].values()
        return list(workers), int(config["task"]["index"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return [], 0


def process_rank() -> int:
    """Number of this process among the data-parallel ones."""
    return cluster()[1]


def meet() -> None:
    """Wait for the other processes: TensorFlow hears no signal while it does."""
    workers, rank = cluster()
    until = time.monotonic() + START_SECONDS
    with listen(workers[rank]):
        for address in workers[:rank] + workers[rank + 1 :]:
            while not reachable(address):
                if time.monotonic() > until:
                    message = f"no process of the run came to {address}"
                    raise Stop("failed", 1, f"{message} in {START_SECONDS} seconds")
                time.sleep(0.2)


def listen(address: str) -> socket.socket:
    """Let the others find this process, until TensorFlow listens there itself."""
    host, _, port = address.rpartition(":")
    try:
        family = socket.getaddrinfo(host.strip("[]"), int(port))[0][0]
        return socket.create_server(("", int(port)), family=family)
    except (OSError, OverflowError, ValueError) as error:
        raise Stop("failed", 2, f"cannot listen on {address}: {error}") from None


def reachable(address: str) -> bool:
    """Whether a process listens at an address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
    except (OSError, OverflowError, ValueError):
        return False
    return True


def leave_processes() -> None:
    """Let the first process write its status: launch.sh ends all at once."""
    if process_rank():
        time.sleep(1.0)


def select_device(args: argparse.Namespace) -> str:
    """Choose the device and prepare the process for it."""
    gpus = tf.config.list_physical_devices("GPU")
    if args.device == "gpu" and not gpus:
        raise Stop("cannot_run", 3, "--device gpu, but TensorFlow sees no GPU")
    if args.threads:
        tf.config.threading.set_intra_op_parallelism_threads(args.threads)
        tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    workers, rank = cluster()
    if len(workers) != PROCESSES or rank not in range(PROCESSES):
        raise Stop("failed", 2, f"made for {PROCESSES} processes: start launch.sh")
    # The processes of a machine share its GPUs out, one each.
    hosts = [address.rpartition(":")[0] for address in workers]
    turn = hosts[:rank].count(hosts[rank]) % max(1, len(gpus))
    used = gpus[turn : turn + 1] if args.device != "cpu" else []
    tf.config.set_visible_devices(used, "GPU")
    for gpu in used:
        tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.experimental.enable_tensor_float_32_execution(False)
    return "/GPU:0" if used else "/CPU:0"


def describe_device(device: str) -> str:
    """Name of the device for status.json."""
    if device == "/CPU:0":
        return "cpu"
    gpu = tf.config.get_visible_devices("GPU")[0]
    return tf.config.experimental.get_device_details(gpu).get("device_name", "gpu")


def peak_memory() -> dict[str, int]:
    """Most bytes that tensors have held on this GPU so far; nothing on a CPU."""
    if not tf.config.get_visible_devices("GPU"):
        return {}
    return {"peak_memory": tf.config.experimental.get_memory_info("GPU:0")["peak"]}


def versions() -> dict[str, str]:
    """Versions that decide about the numbers."""
    return {
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
    }


def make_state(device: str) -> TrainState:
    """Build everything a run starts with."""
    keras.utils.set_random_seed(SEED)
    keras.config.set_dtype_policy(DTYPE_POLICY)  # before the layers are made
    meet()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    # TensorFlow has taken SIGTERM for itself: give it back.
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
    with strategy.scope():  # all begin with the weights of the first process
        model = build_model()
        optimizer = make_optimizer(model)
    return TrainState(model, optimizer, strategy)


def run(args: argparse.Namespace, state: TrainState) -> dict[str, float]:
    """Train, write trace and checkpoints, return the evaluation."""
    checkpoint = args.output / "checkpoint.safetensors"
    if checkpoint.exists() and not args.resume:
        message = f"{args.output} holds a run: pass --resume, or another --output"
        raise Stop("failed", 2, message)
    train_rows, eval_rows = read_rows(args.train), read_rows(args.eval)
    n_rows = len(train_rows["labels"])
    if args.weights:
        load_weights(args.weights, state)
    if args.resume:
        load_checkpoint(checkpoint, state, n_rows)
    started, first = time.perf_counter(), state.windows
    with open_trace(args.output / "trace.jsonl", state.windows) as trace:
        windows = batches(train_rows, state.windows)
        for micro_batches in itertools.islice(windows, max(0, args.windows - first)):
            # Dropout masks do not depend on when a run was resumed.
            reseed(state)
            row = train_window(state, micro_batches, micro_batch_loss)
            row |= peak_memory()
            print(json.dumps(finite(row)), file=trace, flush=True)
            last = state.windows == args.windows
            if last or state.windows % args.log_every == 0:
                speed = (state.windows - first) / (time.perf_counter() - started)
                report(row, args.windows, speed)
            stop_if_hopeless(state, row)
            due = last or state.windows % args.checkpoint_every == 0
            if due and not process_rank():
                save_checkpoint(checkpoint, state, n_rows)
    if not process_rank():
        save_arrays(args.output / "model.safetensors", model_arrays(state))
    return evaluate(state, eval_rows)


def open_trace(path: Path, windows: int) -> TextIO:
    """Open the trace for appending, with the rows of the first `windows` windows.

    Training does not need them: rows that are lost or damaged are told and left out.
    """
    if process_rank():
        return open(os.devnull, "w")
    kept: dict[int, bytes] = {}
    partial = path.with_suffix(".partial")
    try:
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                number = json.loads(line.decode())["window"]
            except (KeyError, RecursionError, TypeError, ValueError):
                continue
            if type(number) is int and 0 <= number < windows:
                kept[number] = line + b"\n"
        partial.write_bytes(b"".join(kept[number] for number in sorted(kept)))
        os.replace(partial, path)
        trace = path.open("a")
    except OSError as error:
        raise Stop("failed", 2, f"cannot write {path}: {error}") from None
    if len(kept) < windows:
        lost = f"{windows - len(kept)} of the rows of {windows} windows"
        print(f"{path} lacks {lost}; going on without")
    return trace


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """Replace inf and nan, which JSON does not know, by null."""
    bad = [k for k, v in row.items() if isinstance(v, float) and not math.isfinite(v)]
    return row | dict.fromkeys(bad)


def report(row: dict[str, Any], windows: int, speed: float) -> None:
    """Print one line of progress."""
    if process_rank():
        return
    left = (windows - row["window"] - 1) / speed
    print(
        f"window {row['window'] + 1}/{windows}  loss {row['loss']:.4f}  "
        f"lr {row['lr']:.3g}  grad norm {row['grad_norm']:.3g}  "
        f"scale {row['scale']:g}  {left:.0f} s left",
        flush=True,
    )


def stop_if_hopeless(state: TrainState, row: dict[str, Any]) -> None:
    """Stop a run that can only produce garbage from here on."""
    hopeless = row["skipped"] and row["scale"] <= MIN_SCALE
    state.stuck = state.stuck + 1 if hopeless else 0
    if state.stuck >= PATIENCE:
        message = f"the loss scale is {row['scale']:g} and gradients still overflow"
        raise Stop("stopped", 1, f"{message}: {PATIENCE} windows were skipped in a row")


def check_version() -> None:
    """Refuse a version of the framework that this script was not written for."""
    version = tf.__version__
    found = tuple(map(int, re.findall(r"\d+", version)[:2]))
    # Development builds may call themselves 0.0.0.
    if any(found) and not (2, 16) <= found:
        raise Stop("cannot_run", 3, f"this script is for {MADE_FOR}, not for {version}")


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; write status.json; return the exit code."""
    args = parse_arguments(argv)
    try:
        args.output.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=args.output).close()  # files can be made there
    except (OSError, ValueError) as error:
        print(f"failed: cannot write to {args.output}: {error}", file=sys.stderr)
        return 2
    status: dict[str, Any] = {"status": "finished", "exit_code": 0, "message": ""}
    status |= {"windows": 0, "updates": 0, "eval": None}
    state: TrainState | None = None
    try:
        check_version()
        device = select_device(args)
        if not process_rank():  # the others may be late
            (args.output / "status.json").unlink(missing_ok=True)
        status |= {"device": describe_device(device), "versions": versions()}
        state = make_state(device)
        status["eval"] = finite(run(args, state))
    except Stop as stop:
        status |= {"status": stop.status, "exit_code": stop.exit_code}
        status["message"] = str(stop)
    except tf.errors.UnavailableError:  # of a collective operation
        message = "another process has ended, or cannot be reached"
        status |= {"status": "failed", "exit_code": 1, "message": message}
    except KeyboardInterrupt:
        status |= {"status": "stopped", "exit_code": 130, "message": "interrupted"}
    except Exception as error:
        status |= {"status": "failed", "exit_code": 1, "message": repr(error)}
        if not process_rank():
            write_status(args.output, status, state)
        raise  # a fault of the script or of the framework, not of its use
    rank = process_rank()
    leave_processes()
    if rank:
        return int(status["exit_code"])
    write_status(args.output, status, state)
    if status["exit_code"]:
        print(f"{status['status']}: {status['message']}", file=sys.stderr)
    else:
        print(f"finished: {json.dumps(status['eval'])}")
    return int(status["exit_code"])


def write_status(
    output: Path, status: dict[str, Any], state: TrainState | None
) -> None:
    """Write status.json, whole, with how far the run came."""
    if state is not None:
        status |= {"windows": state.windows, "updates": state.updates}
    partial = output / "status.partial"
    partial.write_text(json.dumps(status, indent=2) + "\n")
    os.replace(partial, output / "status.json")


if __name__ == "__main__":
    # A launcher whose other process died, or a queue, ends this one as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
