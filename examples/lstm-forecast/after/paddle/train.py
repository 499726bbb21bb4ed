"""lstm-forecast: training for Paddle 3.0 or newer.

Written by crosscast 0.1.0 from recipe ea6dcc5c030bb926.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional as F

# isort: split
from data import eval_rows, train_rows
from model_paddle import absolute_errors as metric_mae
from model_paddle import build_model
from runtime.flags import false
from runtime.run import Run, run_training
from runtime.settings import Settings

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
    made_for="Paddle 3.0 or newer",
    since=(3, 0),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/lstm-forecast-paddle",
    seed=18,
    micro_batch_size=32,
    accumulation_steps=1,
    windows=200,
    checkpoint_every=20,
    target=TARGET,
    classes=False,
    slots=("exp_avg", "exp_avg_sq"),
    betas=BETAS,
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of mixed precision."""
    add = parser.add_argument
    add("--use_fp16", type=false, default=False, help="only false")


def micro_batch_loss(model: nn.Layer, batch: dict[str, paddle.Tensor]) -> paddle.Tensor:
    """Summed squared error of one micro-batch, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != TARGET}
    targets = batch[TARGET].astype("float32")
    outputs = model(**inputs).astype("float32")
    if outputs.shape != targets.shape:  # they would be broadcast
        raise ValueError(f"outputs {outputs.shape}, but targets {targets.shape}")
    losses = F.mse_loss(outputs, targets, reduction="none")
    return losses.reshape([len(losses), -1]).mean(1).sum()


LossFunction = Callable[[nn.Layer, dict[str, paddle.Tensor]], paddle.Tensor]


@dataclass
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    model: nn.Layer
    optimizer: paddle.optimizer.Optimizer
    windows: int = 0
    updates: int = 0


def learning_rate(position: int) -> float:
    """Rate of one optimizer step; `position` counts from 0."""
    progress = min(1.0, position / TOTAL_STEPS)
    remaining = 1.0 - progress
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def make_optimizer(model: nn.Layer) -> paddle.optimizer.Optimizer:
    """Adam. No weight decay."""
    return paddle.optimizer.Adam(
        learning_rate=LEARNING_RATE,
        beta1=BETAS[0],
        beta2=BETAS[1],
        epsilon=EPS,
        parameters=model.parameters(),
    )


@paddle.no_grad()
def global_norm(parameters: Iterable[paddle.Tensor]) -> paddle.Tensor:
    """L2 norm of all gradients together."""
    # Not clip_grad_norm_ or linalg.norm, which lose digits in large gradients (CC352).
    squares = [p.grad.square().sum() for p in parameters if p.grad is not None]
    return paddle.stack(squares).sum().sqrt()


def to_device(batch: dict[str, Any]) -> dict[str, paddle.Tensor]:
    """Copy a micro-batch to the current device."""
    return {name: paddle.to_tensor(array) for name, array in batch.items()}


def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    """Make one optimizer step from the window's micro-batches; return its trace row."""
    model = state.model
    lr = learning_rate(state.updates)
    state.optimizer.set_lr(lr)
    rows = sum(len(batch[TARGET]) for batch in micro_batches)
    n_micro = len(micro_batches)
    window_loss = paddle.zeros([])
    for batch in micro_batches:
        batch = to_device(batch)
        loss = loss_fn(model, batch)
        loss = loss / rows
        loss.backward()
        window_loss += loss.detach()
    grad_norm = global_norm(model.parameters())
    nn.utils.clip_grad_value_(model.parameters(), MAX_VALUE)
    state.optimizer.step()
    state.updates += 1
    state.optimizer.clear_grad(set_to_zero=False)
    window_loss, grad_norm = paddle.stack([window_loss, grad_norm]).tolist()
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "loss": window_loss,
        "lr": lr,
        "grad_norm": grad_norm,
        "updates": state.updates,
    }


def metric_sums(model: nn.Layer, batch: dict[str, paddle.Tensor]) -> paddle.Tensor:
    """Sum of every metric over the rows of a micro-batch, in float64."""
    sums = []
    for name, metric in METRICS.items():
        values = metric(model, dict(batch))
        if values.shape != [len(batch[TARGET])]:
            raise ValueError(f"{name} returned {values.shape}, not one number per row")
        sums.append(values.astype("float64").sum())
    return paddle.stack(sums)


@paddle.no_grad()
def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and metrics over all rows."""
    model, n_rows = state.model, 0
    model.eval()
    total = paddle.zeros([], "float64")
    sums = paddle.zeros([len(METRICS)], "float64")
    for rows in batches:
        n_rows += len(rows[TARGET])
        batch = to_device(rows)
        loss = micro_batch_loss(model, batch)
        sums += metric_sums(model, batch)
        total += loss.astype("float64")
    model.train()
    metrics = dict(zip(METRICS, (sums / n_rows).tolist(), strict=True))
    return {"loss": total.item() / n_rows} | metrics


def make_state(run: Run) -> TrainState:
    """Build everything a run starts with."""
    paddle.seed(SETTINGS.seed)
    model = build_model()
    model.train()
    optimizer = make_optimizer(model)
    return TrainState(model, optimizer)


def train(run: Run) -> dict[str, float]:
    """Train, and return the evaluation."""
    state = make_state(run)
    for micro_batches in run.windows(state):
        # Dropout masks do not depend on when a run was resumed.
        paddle.seed(SETTINGS.seed + state.windows)
        row = train_window(state, micro_batches, micro_batch_loss)
        run.record(state, row)
    return run.finish(state, evaluate)


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; return the exit code."""
    return run_training(SETTINGS, train, argv, add_options)


if __name__ == "__main__":
    sys.exit(main())
