"""bert-small: training for Paddle 3.0 or newer.

Written by crosscast 0.1.0 from recipe 48439cb69d5ee3aa.
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
from model import LIMITS, MAX_POSITIONS, build_model
from runtime.flags import false
from runtime.run import Run, run_training
from runtime.settings import Settings

LEARNING_RATE = 0.0001
END_LEARNING_RATE = 0.0
WARMUP_STEPS = 12
TOTAL_STEPS = 120
BETAS = (0.9, 0.999)
EPS = 1e-08
WEIGHT_DECAY = 0.01
MAX_NORM = 1.0
CLIP_EPS = 1e-06
SETTINGS = Settings(
    recipe="48439cb69d5ee3aa",
    made_for="Paddle 3.0 or newer",
    since=(3, 0),
    train="data/train.npz",
    eval="data/eval.npz",
    data_hint=(
        "make it with: crosscast data nli-synthetic -o data"
        " --train-rows 4096 --eval-rows 1024"
        " --sequence-length 32 --vocab-size 2048 --seed 1234"
    ),
    output="runs/bert-small-paddle",
    seed=1234,
    micro_batch_size=8,
    accumulation_steps=4,
    windows=120,
    checkpoint_every=12,
    limits=LIMITS,
    max_positions=MAX_POSITIONS,
    slots=("exp_avg", "exp_avg_sq"),
    betas=BETAS,
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of mixed precision."""
    add = parser.add_argument
    add("--use_fp16", type=false, default=False, help="only false")


def micro_batch_loss(model: nn.Layer, batch: dict[str, paddle.Tensor]) -> paddle.Tensor:
    """Summed cross-entropy of one micro-batch, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    labels = batch["labels"].astype("int64")
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
    remaining = 1.0 - progress
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def decays(layer: nn.Layer, name: str) -> bool:
    """Whether weight decay applies to the parameter `name` of `layer`."""
    if "bias" in name.split("_"):  # bias_ih_l0 too
        return False
    return not isinstance(layer, nn.LayerNorm)


def make_optimizer(model: nn.Layer) -> paddle.optimizer.Optimizer:
    """AdamW. Decoupled weight decay where `decays` says so."""
    # AdamW asks by generated names like linear_0.b_0, which do not tell a bias.
    verdicts: dict[str, bool] = {}
    for layer in model.sublayers(include_self=True):
        for name, parameter in layer.named_parameters(include_sublayers=False):
            verdicts.setdefault(parameter.name, decays(layer, name))
    return paddle.optimizer.AdamW(
        learning_rate=LEARNING_RATE,
        beta1=BETAS[0],
        beta2=BETAS[1],
        epsilon=EPS,
        parameters=model.parameters(),
        weight_decay=WEIGHT_DECAY,
        apply_decay_param_fun=verdicts.get,
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
    rows = sum(len(batch["labels"]) for batch in micro_batches)
    n_micro = len(micro_batches)
    window_loss = paddle.zeros([])
    for batch in micro_batches:
        batch = to_device(batch)
        loss = loss_fn(model, batch)
        loss = loss / rows
        loss.backward()
        window_loss += loss.detach()
    grad_norm = global_norm(model.parameters())
    with paddle.no_grad():
        coefficient = paddle.clip(MAX_NORM / (grad_norm + CLIP_EPS), max=1.0)
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.multiply_(coefficient)
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
        n_rows += len(rows["labels"])
        batch = to_device(rows)
        labels = batch.pop("labels").astype("int64")
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
        row = train_window(state, micro_batches, micro_batch_loss)
        run.record(state, row)
    return run.finish(state, evaluate)


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; return the exit code."""
    return run_training(SETTINGS, train, argv, add_options)


if __name__ == "__main__":
    sys.exit(main())
