"""lenet-two-processes: training for PyTorch 2.4 or newer.

Written by crosscast 0.1.0 from recipe d884c11efb521bda.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed.nn  # imported later, it would keep the process group
from torch import nn

# isort: split
from lenet import build_model
from runtime.run import Run, run_training
from runtime.settings import Settings

PROCESSES = 2
LEARNING_RATE = 0.1
WEIGHT_DECAY = 0.0
SETTINGS = Settings(
    recipe="d884c11efb521bda",
    made_for="PyTorch 2.4 or newer",
    since=(2, 4),
    train="data/train.npz",
    eval="data/eval.npz",
    output="runs/lenet-two-processes-torch",
    seed=7,
    micro_batch_size=32,
    accumulation_steps=1,
    processes=PROCESSES,
    windows=60,
    checkpoint_every=6,
)


def micro_batch_loss(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Summed cross-entropy of one micro-batch, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    logits = model(**inputs).float()
    labels = batch["labels"].long()
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


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """SGD without weight decay."""
    return torch.optim.SGD(
        model.parameters(),
        lr=LEARNING_RATE,
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
    rows = sum(len(batch["labels"]) for batch in micro_batches)
    n_micro = len(micro_batches)
    totals = torch.tensor([rows, n_micro], device=device)
    torch.distributed.all_reduce(totals)
    rows, n_micro = totals.tolist()
    window_loss = torch.zeros((), device=device)
    for index, batch in enumerate(micro_batches, start=1):
        last = index == len(micro_batches)  # the backward that reduces gradients
        with contextlib.nullcontext() if last else model.no_sync():
            batch = to_device(batch, device)
            loss = loss_fn(model, batch)
            loss = loss / (rows / PROCESSES)
            loss.backward()
            window_loss += loss.detach()
    # DistributedDataParallel took the mean of the gradients in the last backward.
    torch.distributed.all_reduce(window_loss)
    window_loss /= PROCESSES
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
        "lr": LEARNING_RATE,
        "grad_norm": grad_norm,
        "updates": state.updates,
    }


@torch.no_grad()
def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and accuracy over all rows."""
    model, device, n_rows = state.model.module, state.device, 0
    model.eval()
    totals = torch.zeros(2, dtype=torch.float64, device=device)  # loss, right answers
    for rows in batches:
        n_rows += len(rows["labels"])
        batch = to_device(rows, device)
        labels = batch.pop("labels").long()
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
    model = nn.parallel.DistributedDataParallel(model)
    return TrainState(model, optimizer, run.device)


def train(run: Run) -> dict[str, float]:
    """Train, and return the evaluation."""
    state = make_state(run)
    for micro_batches in run.windows(state):
        # Dropout masks do not depend on when a run was resumed.
        torch.manual_seed(SETTINGS.seed + state.windows * PROCESSES + run.rank)
        row = train_window(state, micro_batches, micro_batch_loss)
        run.record(state, row)
    return run.finish(state, evaluate)


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; return the exit code."""
    return run_training(SETTINGS, train, argv)


if __name__ == "__main__":
    sys.exit(main())
