"""resnet-cifar: training for PyTorch 2.4 or newer.

Written by crosscast 0.1.0 from recipe b4e8ca5572bdf3f1.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

# isort: split
from data import eval_rows, train_rows
from model_torch import build_model
from runtime.run import Run, run_training
from runtime.settings import Settings

TARGET = "label"
LEARNING_RATE = 0.05
END_LEARNING_RATE = 0.0
WARMUP_STEPS = 20
TOTAL_STEPS = 200
MOMENTUM = 0.9
NESTEROV = True
WEIGHT_DECAY = 0.0005
SETTINGS = Settings(
    recipe="b4e8ca5572bdf3f1",
    made_for="PyTorch 2.4 or newer",
    since=(2, 4),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/resnet-cifar-torch",
    seed=18,
    micro_batch_size=32,
    accumulation_steps=2,
    windows=200,
    checkpoint_every=20,
    target=TARGET,
    slots=("momentum_buffer",),
)


def micro_batch_loss(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Summed cross-entropy of one micro-batch, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != TARGET}
    logits = model(**inputs).float()
    labels = batch[TARGET].long()
    return nn.functional.cross_entropy(logits, labels, reduction="sum")


LossFunction = Callable[[nn.Module, dict[str, torch.Tensor]], torch.Tensor]


@dataclass
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device
    windows: int = 0
    updates: int = 0


def learning_rate(position: int) -> float:
    """Rate of one optimizer step; `position` counts from 0."""
    if position < WARMUP_STEPS:
        return LEARNING_RATE * position / WARMUP_STEPS
    progress = min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))
    remaining = 0.5 * (1.0 + math.cos(math.pi * progress))
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """SGD. Coupled (L2) weight decay on every parameter."""
    return torch.optim.SGD(
        model.parameters(),
        lr=LEARNING_RATE,
        momentum=MOMENTUM,
        nesterov=NESTEROV,
        weight_decay=WEIGHT_DECAY,
        fused=True,
    )


def global_norm(
    parameters: Iterable[nn.Parameter], device: torch.device
) -> torch.Tensor:
    """L2 norm of all gradients together."""
    norms = [p.grad.norm() for p in parameters if p.grad is not None]
    if not norms:
        return torch.zeros((), device=device)
    return torch.linalg.vector_norm(torch.stack(norms))


def to_device(batch: dict[str, Any], device: torch.device) -> dict[str, torch.Tensor]:
    """Copy a micro-batch; from pinned memory the copy overlaps with computation."""
    tensors = {name: torch.as_tensor(array) for name, array in batch.items()}
    if device.type == "cuda":
        tensors = {n: t if t.is_cuda else t.pin_memory() for n, t in tensors.items()}
    return {name: t.to(device, non_blocking=True) for name, t in tensors.items()}


def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    """Make one optimizer step from the window's micro-batches; return its trace row."""
    model, device = state.model, state.device
    lr = learning_rate(state.updates)
    for group in state.optimizer.param_groups:
        group["lr"] = lr
    rows = sum(len(batch[TARGET]) for batch in micro_batches)
    n_micro = len(micro_batches)
    window_loss = torch.zeros((), device=device)
    for batch in micro_batches:
        batch = to_device(batch, device)
        loss = loss_fn(model, batch)
        loss = loss / rows
        loss.backward()
        window_loss += loss.detach()
    grad_norm = global_norm(model.parameters(), device)
    state.optimizer.step()
    state.updates += 1
    state.optimizer.zero_grad()
    window_loss, grad_norm = torch.stack([window_loss, grad_norm]).tolist()
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


@torch.no_grad()
def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and accuracy over all rows."""
    model, device, n_rows = state.model, state.device, 0
    model.eval()
    totals = torch.zeros(2, dtype=torch.float64, device=device)  # loss, right answers
    for rows in batches:
        n_rows += len(rows[TARGET])
        batch = to_device(rows, device)
        labels = batch.pop(TARGET).long()
        logits = model(**batch)
        totals[0] += nn.functional.cross_entropy(logits, labels, reduction="sum")
        totals[1] += (logits.argmax(-1) == labels).sum()
    model.train()
    loss, correct = totals.tolist()
    return {"loss": loss / n_rows, "accuracy": correct / n_rows}


def make_state(run: Run) -> TrainState:
    """Build everything a run starts with."""
    torch.manual_seed(SETTINGS.seed)
    model = build_model().to(run.device).train()
    optimizer = make_optimizer(model)
    return TrainState(model, optimizer, run.device)


def train(run: Run) -> dict[str, float]:
    """Train, and return the evaluation."""
    state = make_state(run)
    for micro_batches in run.windows(state):
        # Dropout masks do not depend on when a run was resumed.
        torch.manual_seed(SETTINGS.seed + state.windows)
        row = train_window(state, micro_batches, micro_batch_loss)
        run.record(state, row)
    return run.finish(state, evaluate)


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; return the exit code."""
    return run_training(SETTINGS, train, argv)


if __name__ == "__main__":
    sys.exit(main())
