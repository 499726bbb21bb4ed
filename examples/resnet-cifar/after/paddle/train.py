"""resnet-cifar: training for Paddle 3.0 or newer.

Written by crosscast 0.1.0 from recipe b4e8ca5572bdf3f1.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional as F

# isort: split
from data import eval_rows, train_rows
from model_paddle import build_model
from runtime.flags import false
from runtime.run import Run, run_training
from runtime.settings import Settings

TARGET = "label"
LEARNING_RATE = 0.05
END_LEARNING_RATE = 0.0
WARMUP_STEPS = 20
TOTAL_STEPS = 200
MOMENTUM = 0.9
WEIGHT_DECAY = 0.0005
SETTINGS = Settings(
    recipe="b4e8ca5572bdf3f1",
    made_for="Paddle 3.0 or newer",
    since=(3, 0),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/resnet-cifar-paddle",
    seed=18,
    micro_batch_size=32,
    accumulation_steps=2,
    windows=200,
    checkpoint_every=20,
    target=TARGET,
    slots=("momentum_buffer",),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of mixed precision."""
    add = parser.add_argument
    add("--use_fp16", type=false, default=False, help="only false")


def micro_batch_loss(model: nn.Layer, batch: dict[str, paddle.Tensor]) -> paddle.Tensor:
    """Summed cross-entropy of one micro-batch, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != TARGET}
    labels = batch[TARGET].astype("int64")
    logits = model(**inputs).astype("float32")
    return F.cross_entropy(logits, labels, reduction="sum")


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
    if position < WARMUP_STEPS:
        return LEARNING_RATE * position / WARMUP_STEPS
    progress = min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))
    remaining = 0.5 * (1.0 + math.cos(math.pi * progress))
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def make_optimizer(model: nn.Layer) -> paddle.optimizer.Optimizer:
    """Momentum. Coupled (L2) weight decay on every parameter."""
    return paddle.optimizer.Momentum(
        learning_rate=LEARNING_RATE,
        momentum=MOMENTUM,
        use_nesterov=True,
        parameters=model.parameters(),
        weight_decay=WEIGHT_DECAY,
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


@paddle.no_grad()
def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and accuracy over all rows."""
    model, n_rows = state.model, 0
    model.eval()
    loss, correct = paddle.zeros([], "float64"), paddle.zeros([], "int64")
    for rows in batches:
        n_rows += len(rows[TARGET])
        batch = to_device(rows)
        labels = batch.pop(TARGET).astype("int64")
        logits = model(**batch)
        loss += F.cross_entropy(logits, labels, reduction="sum").astype("float64")
        correct += (logits.argmax(-1) == labels).sum()
    model.train()
    loss, correct = paddle.stack([loss, correct.astype("float64")]).tolist()
    return {"loss": loss / n_rows, "accuracy": correct / n_rows}


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
