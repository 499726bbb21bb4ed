"""lstm-forecast: training for PyTorch 2.4 or newer.

Written by crosscast 0.1.0 from recipe ea6dcc5c030bb926.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

# isort: split
from data import eval_rows, train_rows
from model_torch import absolute_errors as metric_mae
from model_torch import build_model
from runtime.run import Run, run_training
from runtime.settings import Settings

TARGET = "future"
LEARNING_RATE = 0.003
END_LEARNING_RATE = 0.0
TOTAL_STEPS = 200
BETAS = (0.9, 0.999)
EPS = 1e-08
WEIGHT_DECAY = 0.0
MAX_VALUE = 0.1
METRICS = {"mae": metric_mae}
SETTINGS = Settings(
    recipe="ea6dcc5c030bb926",
    made_for="PyTorch 2.4 or newer",
    since=(2, 4),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/lstm-forecast-torch",
    seed=18,
    micro_batch_size=32,
    accumulation_steps=1,
    windows=200,
    checkpoint_every=20,
    target=TARGET,
    classes=False,
    slots=("exp_avg", "exp_avg_sq"),
)


def micro_batch_loss(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Summed squared error of one micro-batch, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != TARGET}
    outputs, targets = model(**inputs).float(), batch[TARGET].float()
    if outputs.shape != targets.shape:  # they would be broadcast
        raise ValueError(f"outputs {outputs.shape}, but targets {targets.shape}")
    losses = nn.functional.mse_loss(outputs, targets, reduction="none")
    return losses.reshape(len(losses), -1).mean(1).sum()


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
    progress = min(1.0, position / TOTAL_STEPS)
    remaining = 1.0 - progress
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """Adam without weight decay."""
    return torch.optim.Adam(
        model.parameters(),
        lr=LEARNING_RATE,
        betas=BETAS,
        eps=EPS,
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
    nn.utils.clip_grad_value_(model.parameters(), MAX_VALUE)
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


def metric_sums(model: nn.Module, batch: dict[str, Any]) -> Iterable[torch.Tensor]:
    """Yield each metric's sum over the rows of a batch, in float64."""
    for name, metric in METRICS.items():
        values = metric(model, dict(batch))
        if values.shape != (len(batch[TARGET]),):
            raise ValueError(f"{name} returned {values.shape}, not one number per row")
        yield values.double().sum()


@torch.no_grad()
def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and metrics over all rows."""
    model, device, n_rows = state.model, state.device, 0
    model.eval()
    total = torch.zeros((), dtype=torch.float64, device=device)
    sums = torch.zeros(len(METRICS), dtype=torch.float64, device=device)
    for rows in batches:
        n_rows += len(rows[TARGET])
        batch = to_device(rows, device)
        total += micro_batch_loss(model, batch)
        sums += torch.stack([*metric_sums(model, batch)])
    model.train()
    metrics = dict(zip(METRICS, (sums / n_rows).tolist(), strict=True))
    return {"loss": total.item() / n_rows} | metrics


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
