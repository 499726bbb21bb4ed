"""lstm-forecast: training for JAX 0.9 or newer (Flax NNX).

Written by crosscast 0.1.0 from recipe ea6dcc5c030bb926.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

# isort: split
from data import eval_rows, train_rows
from model_jax import absolute_errors as metric_mae
from model_jax import build_model
from runtime.run import Run, run_training
from runtime.settings import Settings
from runtime.state import check_model, reseeded

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
    made_for="JAX 0.9 or newer (Flax NNX)",
    since=(0, 9),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/lstm-forecast-jax",
    seed=18,
    micro_batch_size=32,
    accumulation_steps=ACCUMULATION_STEPS,
    windows=200,
    checkpoint_every=20,
    target=TARGET,
    classes=False,
    slots=("exp_avg", "exp_avg_sq"),
)


def row_losses(model: nnx.Module, batch: dict[str, jax.Array]) -> jax.Array:
    """Squared error of every row, the mean over its elements, in float32."""
    inputs = {name: array for name, array in batch.items() if name != TARGET}
    outputs = model(**inputs).astype(jnp.float32)
    targets = batch[TARGET].astype(jnp.float32)
    if outputs.shape != targets.shape:  # they would be broadcast
        raise ValueError(f"outputs {outputs.shape}, but targets {targets.shape}")
    losses = jnp.square(outputs - targets)
    return losses.reshape(len(losses), -1).mean(axis=1)


def micro_batch_loss(model: nnx.Module, batch: dict[str, jax.Array]) -> jax.Array:
    """Summed squared error of one micro-batch."""
    return row_losses(model, batch).sum()


LossFunction = Callable[[nnx.Module, dict[str, jax.Array]], jax.Array]


@jax.tree_util.register_dataclass
@dataclass
class Arrays:
    """What a window changes on the device."""

    weights: nnx.State
    rest: nnx.State  # of the model: running statistics, random numbers
    optimizer: optax.OptState


@dataclass
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    graph: nnx.GraphDef
    optimizer: optax.GradientTransformation
    arrays: Arrays
    windows: int = 0
    updates: int = 0

    @property
    def model(self) -> nnx.Module:
        """The model with its present weights."""
        return nnx.merge(self.graph, self.arrays.weights, self.arrays.rest)


def learning_rate(position: int) -> float:
    """Rate of one optimizer step; `position` counts from 0."""
    progress = min(1.0, position / TOTAL_STEPS)
    remaining = 1.0 - progress
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def scale_by_adam() -> optax.GradientTransformation:
    """Adam's direction.

    optax.scale_by_adam rounds 1 - beta**t: early updates are off by 1e-5 (CC414).
    """

    def init(weights: nnx.State) -> optax.ScaleByAdamState:
        zeros = [jax.tree.map(jnp.zeros_like, weights) for _ in BETAS]
        return optax.ScaleByAdamState(jnp.zeros((), jnp.int32), *zeros)

    def update(
        gradients: nnx.State, state: optax.ScaleByAdamState, weights: Any = None
    ) -> tuple[nnx.State, optax.ScaleByAdamState]:
        count = state.count + 1
        mean = jax.tree.map(
            lambda m, g: BETAS[0] * m + (1.0 - BETAS[0]) * g, state.mu, gradients
        )
        square = jax.tree.map(
            lambda v, g: BETAS[1] * v + (1.0 - BETAS[1]) * g * g, state.nu, gradients
        )
        correction, second = (-jnp.expm1(count * math.log(beta)) for beta in BETAS)
        root_correction = jnp.sqrt(second)

        def direction(m: jax.Array, v: jax.Array) -> jax.Array:
            return m / correction / (jnp.sqrt(v) / root_correction + EPS)

        directions = jax.tree.map(direction, mean, square)
        return directions, optax.ScaleByAdamState(count, mean, square)

    return optax.GradientTransformation(init, update)


def make_optimizer(model: nnx.Module) -> optax.GradientTransformation:
    """Adam. No weight decay."""
    return scale_by_adam()


def start(model: nnx.Module) -> TrainState:
    """Take a model apart into what is compiled once and what changes."""
    model.train()
    optimizer = make_optimizer(model)
    graph, weights, rest = nnx.split(model, nnx.Param, ...)
    arrays = Arrays(weights, rest, optimizer.init(weights))
    return TrainState(graph, optimizer, arrays)


def micro_step(
    graph: nnx.GraphDef,
    loss_fn: LossFunction,
    weights: nnx.State,
    sums: tuple[nnx.State, nnx.State, jax.Array],
    batch: dict[str, jax.Array],
    numbers: dict[str, jax.Array],
) -> tuple[nnx.State, nnx.State, jax.Array]:
    """Add the gradients and the loss of one micro-batch to those of the window."""
    rest, totals, window_loss = sums

    def forward(weights: nnx.State) -> tuple[jax.Array, tuple[jax.Array, nnx.State]]:
        model = nnx.merge(graph, weights, rest, copy=True)
        loss = loss_fn(model, batch)
        loss = loss / numbers["divisor"]
        return loss, (loss, nnx.state(model, nnx.Not(nnx.Param)))

    gradients, (loss, rest) = jax.grad(forward, has_aux=True)(weights)
    # Not optax.MultiSteps, which multiplies by 0 what it leaves out: 0 * inf is nan.
    totals = jax.tree.map(jnp.add, totals, gradients)
    return rest, totals, window_loss + loss


def window_step(
    graph: nnx.GraphDef,
    optimizer: optax.GradientTransformation,
    arrays: Arrays,
    sums: tuple[nnx.State, nnx.State, jax.Array],
    numbers: dict[str, jax.Array],
) -> tuple[Arrays, dict[str, jax.Array]]:
    """Make one optimizer step; return the norm of the gradients, too."""
    rest, gradients, window_loss = sums
    grad_norm = optax.tree.norm(gradients)
    in_limits = partial(jnp.clip, min=-MAX_VALUE, max=MAX_VALUE)
    gradients = jax.tree.map(in_limits, gradients)
    updates, moments = optimizer.update(gradients, arrays.optimizer, arrays.weights)
    updates = jax.tree.map(lambda update: -numbers["rate"] * update, updates)
    weights = optax.apply_updates(arrays.weights, updates)
    arrays = Arrays(weights, rest, moments)
    # The sums of the next window start at zero.
    return arrays, {"loss": window_loss, "grad_norm": grad_norm}


def empty_sums(
    graph: nnx.GraphDef, arrays: Arrays, numbers: dict[str, jax.Array]
) -> tuple[nnx.State, nnx.State, jax.Array]:
    """What the model holds besides its weights, and no gradients and no loss yet."""
    # Dropout masks do not depend on when a run was resumed.
    rest = reseeded(arrays.rest, SETTINGS.seed, numbers["window"])
    return rest, jax.tree.map(jnp.zeros_like, arrays.weights), jnp.zeros(())


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=3)
def full_window(
    graph: nnx.GraphDef,
    optimizer: optax.GradientTransformation,
    loss_fn: LossFunction,
    arrays: Arrays,
    micro_batches: dict[str, jax.Array],
    numbers: dict[str, jax.Array],
) -> tuple[Arrays, dict[str, jax.Array]]:
    """Do all that a full window does in one call, from its micro-batches stacked."""
    weights = arrays.weights

    def add(
        sums: tuple[nnx.State, nnx.State, jax.Array], batch: dict[str, jax.Array]
    ) -> tuple[tuple[nnx.State, nnx.State, jax.Array], None]:
        return micro_step(graph, loss_fn, weights, sums, batch, numbers), None

    sums, _ = jax.lax.scan(add, empty_sums(graph, arrays, numbers), micro_batches)
    return window_step(graph, optimizer, arrays, sums, numbers)


# A short window has any number and size of micro-batches.
begin_window = jax.jit(empty_sums, static_argnums=0)
add_micro_batch = jax.jit(micro_step, static_argnums=(0, 1), donate_argnums=3)
end_window = jax.jit(window_step, static_argnums=(0, 1), donate_argnums=2)


def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    """Make one optimizer step from the window's micro-batches; return its trace row."""
    lr = learning_rate(state.updates)
    rows = sum(len(batch[TARGET]) for batch in micro_batches)
    n_micro = len(micro_batches)
    numbers = {
        "divisor": np.float32(rows),
        "rate": np.float32(lr),
        "window": np.int32(state.windows),
    }
    shapes = [{name: a.shape for name, a in b.items()} for b in micro_batches]
    if shapes == shapes[:1] * ACCUMULATION_STEPS:
        stacked = {n: np.stack([b[n] for b in micro_batches]) for n in shapes[0]}
        state.arrays, result = full_window(
            state.graph, state.optimizer, loss_fn, state.arrays, stacked, numbers
        )
    else:
        sums = begin_window(state.graph, state.arrays, numbers)
        weights = state.arrays.weights
        for batch in micro_batches:
            sums = add_micro_batch(state.graph, loss_fn, weights, sums, batch, numbers)
        state.arrays, result = end_window(
            state.graph, state.optimizer, state.arrays, sums, numbers
        )
    row = {name: number.item() for name, number in jax.device_get(result).items()}
    state.updates += 1
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "lr": lr,
        "updates": state.updates,
    } | row


def metric_sums(model: nnx.Module, batch: dict[str, jax.Array]) -> list[jax.Array]:
    """Sum of every metric over the rows of a micro-batch."""
    sums = []
    for name, metric in METRICS.items():
        values = metric(model, dict(batch)).astype(jnp.float32)
        if values.shape != (len(next(iter(batch.values()))),):
            raise ValueError(f"{name}: not one number per row")
        sums.append(values.sum())
    return sums


@partial(jax.jit, static_argnums=0)
def evaluate_batch(
    graph: nnx.GraphDef, arrays: Arrays, batch: dict[str, jax.Array]
) -> tuple[jax.Array, ...]:
    """Summed loss, and sums of the metrics."""
    model = nnx.merge(graph, arrays.weights, arrays.rest)
    model.eval()
    loss = row_losses(model, batch).sum()
    return loss, *metric_sums(model, batch)


def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and metrics over all rows."""
    sums, n_rows = np.zeros(1 + len(METRICS)), 0
    for batch in batches:
        n_rows += len(batch[TARGET])
        sums += jax.device_get(evaluate_batch(state.graph, state.arrays, batch))
    names = ("loss", *METRICS)
    return dict(zip(names, (sums / n_rows).tolist(), strict=True))


def make_state(run: Run) -> TrainState:
    """Build everything a run starts with."""
    with jax.default_device(run.device):
        model = build_model(nnx.Rngs(SETTINGS.seed))
        check_model(model)
        return start(model)


def train(run: Run) -> dict[str, float]:
    """Train, and return the evaluation."""
    state = make_state(run)
    for micro_batches in run.windows(state):
        row = train_window(state, micro_batches, micro_batch_loss)
        run.record(state, row)
    return run.finish(state, evaluate)


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; return the exit code."""
    return run_training(SETTINGS, train, argv)


if __name__ == "__main__":
    sys.exit(main())
