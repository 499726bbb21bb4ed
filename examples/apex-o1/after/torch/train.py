"""apex-o1: training for PyTorch 2.4 or newer.

Written by crosscast 0.1.0 from recipe a9388fd82b81a316.
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
from my_model import build_model
from runtime.run import Run, run_training
from runtime.settings import Settings

LEARNING_RATE = 0.01
MOMENTUM = 0.9
WEIGHT_DECAY = 0.0001
MAX_NORM = 1.0
INIT_SCALE = 65536.0
GROWTH_FACTOR = 2.0
BACKOFF_FACTOR = 0.5
GROWTH_INTERVAL = 2000  # clean steps before the scale grows
MAX_SCALE = 16777216.0
SETTINGS = Settings(
    recipe="a9388fd82b81a316",
    made_for="PyTorch 2.4 or newer",
    since=(2, 4),
    train="data/train.npz",
    eval="data/eval.npz",
    output="runs/apex-o1-torch",
    seed=0,
    micro_batch_size=64,
    accumulation_steps=1,
    windows=10000,
    checkpoint_every=500,
    slots=("momentum_buffer",),
    scale=(0.0, MAX_SCALE),
    counts=(2000, 1),
)


def micro_batch_loss(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Mean cross-entropy of one micro-batch, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    logits = model(**inputs).float()
    labels = batch["labels"].long()
    return nn.functional.cross_entropy(logits, labels, reduction="mean")


LossFunction = Callable[[nn.Module, dict[str, torch.Tensor]], torch.Tensor]


@dataclass
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device
    scaler: torch.amp.GradScaler
    windows: int = 0
    updates: int = 0


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """SGD. Coupled (L2) weight decay on every parameter. Not fused (CC315)."""
    return torch.optim.SGD(
        model.parameters(),
        lr=LEARNING_RATE,
        momentum=MOMENTUM,
        weight_decay=WEIGHT_DECAY,
    )


def make_scaler(device: torch.device) -> torch.amp.GradScaler:
    """Dynamic loss scale; train_window keeps it within its bounds (CC310)."""
    return torch.amp.GradScaler(
        device.type,
        init_scale=INIT_SCALE,
        growth_factor=GROWTH_FACTOR,
        backoff_factor=BACKOFF_FACTOR,
        growth_interval=GROWTH_INTERVAL,
    )


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
    rows = sum(len(batch["labels"]) for batch in micro_batches)
    n_micro = len(micro_batches)
    window_loss = torch.zeros((), device=device)
    for batch in micro_batches:
        batch = to_device(batch, device)
        with torch.autocast(device.type, dtype=torch.float16):
            loss = loss_fn(model, batch)
        loss = loss / n_micro
        scaled_loss = state.scaler.scale(loss)
        scaled_loss.backward()
        window_loss += loss.detach()
    state.scaler.unscale_(state.optimizer)
    # unscale_ has looked for inf and nan; step() does nothing when it found any.
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
    state.scaler.step(state.optimizer)
    unit = torch.ones(1, device=device)
    scale = state.scaler.scale(unit)  # get_scale() would wait for the device
    state.scaler.update()
    new_scale = state.scaler.scale(unit)
    values = torch.cat([window_loss.view(1), grad_norm.view(1), scale, new_scale])
    window_loss, grad_norm, scale, new_scale = values.tolist()  # waits for the device
    skipped = new_scale < scale
    if new_scale > MAX_SCALE:
        state.scaler.update(MAX_SCALE)
    state.updates += not skipped
    state.optimizer.zero_grad()
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "loss": window_loss,
        "lr": LEARNING_RATE,
        "grad_norm": grad_norm,
        "scale": scale,
        "skipped": skipped,
        "updates": state.updates,
    }


@torch.no_grad()
def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and accuracy over all rows."""
    model, device, n_rows = state.model, state.device, 0
    model.eval()
    totals = torch.zeros(2, dtype=torch.float64, device=device)  # loss, right answers
    for rows in batches:
        n_rows += len(rows["labels"])
        batch = to_device(rows, device)
        labels = batch.pop("labels").long()
        with torch.autocast(device.type, dtype=torch.float16):
            logits = model(**batch).float()
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
    scaler = make_scaler(run.device)
    return TrainState(model, optimizer, run.device, scaler)


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
