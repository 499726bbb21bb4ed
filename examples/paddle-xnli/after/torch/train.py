"""paddle-xnli: training for PyTorch 2.4 or newer.

Written by crosscast 0.1.0 from recipe 12c67d2021d8a1b1.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.distributed.nn  # imported later, it would keep the process group
from torch import nn

# isort: split
from model import LIMITS, MAX_POSITIONS, build_model
from runtime.run import Run, run_training
from runtime.settings import Settings

PROCESSES = 8
LEARNING_RATE = 5e-05
END_LEARNING_RATE = 0.0
WARMUP_STEPS = 460
TOTAL_STEPS = 4602
BETAS = (0.9, 0.999)
EPS = 1e-08
WEIGHT_DECAY = 0.01
MAX_NORM = 1.0
INIT_SCALE = 32768.0
GROWTH_FACTOR = 2.0
BACKOFF_FACTOR = 0.8
GROWTH_INTERVAL = 1000  # clean steps before the scale grows
HYSTERESIS = 2  # overflowed steps in a row before it backs off
MIN_SCALE = 1.0
SETTINGS = Settings(
    recipe="12c67d2021d8a1b1",
    made_for="PyTorch 2.4 or newer",
    since=(2, 4),
    train="data/xnli-train.npz",
    eval="data/xnli-dev.npz",
    output="runs/paddle-xnli-torch",
    seed=1,
    micro_batch_size=32,
    accumulation_steps=1,
    processes=PROCESSES,
    windows=4602,
    checkpoint_every=460,
    limits=LIMITS,
    max_positions=MAX_POSITIONS,
    slots=("exp_avg", "exp_avg_sq"),
    scale=(MIN_SCALE, float("inf")),
    counts=(1000, 2),
)


def micro_batch_loss(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Summed cross-entropy of one micro-batch, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    logits = model(**inputs).float()
    labels = batch["labels"].long()
    return nn.functional.cross_entropy(logits, labels, reduction="sum")


LossFunction = Callable[[nn.Module, dict[str, torch.Tensor]], torch.Tensor]


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
                    self.scale = grown
        return self.scale


def float32(value: float) -> float:
    """Round to the type in which the framework keeps the scale."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


@dataclass
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device
    scaler: torch.amp.GradScaler
    loss_scale: LossScale = field(default_factory=LossScale)
    windows: int = 0
    updates: int = 0


def learning_rate(position: int) -> float:
    """Rate of one optimizer step; `position` counts from 0."""
    if position < WARMUP_STEPS:
        return LEARNING_RATE * position / WARMUP_STEPS
    progress = min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))
    remaining = 1.0 - progress
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def decays(module: nn.Module, name: str) -> bool:
    """Whether weight decay applies to the parameter `name` of `module`."""
    if "bias" in name.split("_"):  # in_proj_bias too
        return False
    return not isinstance(module, (nn.LayerNorm, nn.RMSNorm))


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """AdamW. Decoupled weight decay where `decays` says so."""
    decay: dict[nn.Parameter, float] = {}  # of a shared one, its first module decides
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.requires_grad:
                own = WEIGHT_DECAY if decays(module, name) else 0.0
                decay.setdefault(parameter, own)
    groups = [
        {"params": [p for p, d in decay.items() if d == value], "weight_decay": value}
        for value in (WEIGHT_DECAY, 0.0)
    ]
    return torch.optim.AdamW(
        groups,
        lr=LEARNING_RATE,
        betas=BETAS,
        eps=EPS,
        fused=True,
    )


def make_scaler(device: torch.device) -> torch.amp.GradScaler:
    """Scales and skips; LossScale decides about the scale (CC311)."""
    return torch.amp.GradScaler(
        device.type,
        init_scale=INIT_SCALE,
        growth_interval=2**31 - 1,
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
    lr = learning_rate(state.updates)
    for group in state.optimizer.param_groups:
        group["lr"] = lr
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
            with torch.autocast(device.type, dtype=torch.float16):
                loss = loss_fn(model, batch)
            loss = loss / (rows / PROCESSES)
            scaled_loss = state.scaler.scale(loss)
            scaled_loss.backward()
            window_loss += loss.detach()
    # DistributedDataParallel took the mean of the gradients in the last backward.
    torch.distributed.all_reduce(window_loss)
    window_loss /= PROCESSES
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
    state.scaler.update(state.loss_scale.adjust(skipped))
    state.updates += not skipped
    state.optimizer.zero_grad()
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "loss": window_loss,
        "lr": lr,
        "grad_norm": grad_norm,
        "scale": scale,
        "skipped": skipped,
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
    model = nn.parallel.DistributedDataParallel(model)
    scaler = make_scaler(run.device)
    return TrainState(model, optimizer, run.device, scaler)


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
