"""gpt: training for PyTorch 2.4 or newer.

Written by crosscast 0.1.0 from recipe 57302b084b55a191.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

# isort: split
from data import eval_rows, train_rows
from model_torch import build_model
from runtime.run import Run, run_training
from runtime.settings import Settings

LEARNING_RATE = 0.001
END_LEARNING_RATE = 0.0001
WARMUP_STEPS = 20
TOTAL_STEPS = 300
BETAS = (0.9, 0.999)
EPS = 1e-08
WEIGHT_DECAY = 0.1
GROUPS = ((("*positions*",), 0.0, 1.0),)
MAX_NORM = 1.0
INIT_SCALE = 65536.0
GROWTH_FACTOR = 2.0
BACKOFF_FACTOR = 0.5
GROWTH_INTERVAL = 100  # clean steps before the scale grows
MIN_SCALE = 1.0
SETTINGS = Settings(
    recipe="57302b084b55a191",
    made_for="PyTorch 2.4 or newer",
    since=(2, 4),
    train=train_rows,
    eval=eval_rows,
    source="custom",
    output="runs/gpt-torch",
    seed=18,
    micro_batch_size=16,
    accumulation_steps=2,
    windows=300,
    checkpoint_every=30,
    unlabelled=True,
    slots=("exp_avg", "exp_avg_sq"),
    scale=(MIN_SCALE, float("inf")),
    counts=(100, 1),
)


def micro_batch_loss(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Summed cross-entropy of the labels that are not -100, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    logits = model(**inputs).float()
    labels = batch["labels"].long()
    logits, labels = logits.flatten(0, -2), labels.flatten()
    return nn.functional.cross_entropy(logits, labels, reduction="sum")


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


def learning_rate(position: int) -> float:
    """Rate of one optimizer step; `position` counts from 0."""
    if position < WARMUP_STEPS:
        return LEARNING_RATE * position / WARMUP_STEPS
    progress = min(1.0, (position - WARMUP_STEPS) / (TOTAL_STEPS - WARMUP_STEPS))
    remaining = 0.5 * (1.0 + math.cos(math.pi * progress))
    return END_LEARNING_RATE + (LEARNING_RATE - END_LEARNING_RATE) * remaining


def decays(module: nn.Module, name: str) -> bool:
    """Whether weight decay applies to the parameter `name` of `module`."""
    if "bias" in name.split("_"):  # in_proj_bias too
        return False
    return not isinstance(module, (nn.LayerNorm, nn.RMSNorm))


def settings_of(name: str, decay: float) -> tuple[float, float]:
    """Weight decay and factor of the rate; the first of GROUPS that matches decides."""
    for patterns, own_decay, factor in GROUPS:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return (decay if own_decay is None else own_decay), factor
    return decay, 1.0


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """AdamW. Decoupled weight decay and rates by name."""
    chosen: dict[nn.Parameter, tuple[float, float]] = {}
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.requires_grad and parameter not in chosen:
                decay = WEIGHT_DECAY if decays(module, name) else 0.0
                chosen[parameter] = settings_of(f"{path}.{name}".lstrip("."), decay)
    groups: list[dict[str, Any]] = []
    for settings in dict.fromkeys(chosen.values()):
        params = [p for p, own in chosen.items() if own == settings]
        groups.append({"params": params, "weight_decay": settings[0]})
    return torch.optim.AdamW(
        groups,
        lr=LEARNING_RATE,
        betas=BETAS,
        eps=EPS,
        fused=True,
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
    lr = learning_rate(state.updates)
    for group in state.optimizer.param_groups:
        group["lr"] = lr
    rows = sum(len(batch["labels"]) for batch in micro_batches)
    n_micro = len(micro_batches)
    tokens = sum(int((batch["labels"] != -100).sum()) for batch in micro_batches)
    window_loss = torch.zeros((), device=device)
    for batch in micro_batches:
        batch = to_device(batch, device)
        with torch.autocast(device.type, dtype=torch.float16):
            loss = loss_fn(model, batch)
        loss = loss / max(1, tokens)
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
    if new_scale < MIN_SCALE:
        state.scaler.update(MIN_SCALE)
    state.updates += not skipped
    state.optimizer.zero_grad()
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "tokens": tokens,
        "loss": window_loss,
        "lr": lr,
        "grad_norm": grad_norm,
        "scale": scale,
        "skipped": skipped,
        "updates": state.updates,
    }


@torch.no_grad()
def evaluate(state: TrainState, batches: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Mean loss and accuracy over all labels but -100."""
    model, device, n_labels = state.model, state.device, 0
    model.eval()
    totals = torch.zeros(2, dtype=torch.float64, device=device)  # loss, right answers
    for rows in batches:
        n_labels += int((rows["labels"] != -100).sum())
        batch = to_device(rows, device)
        labels = batch.pop("labels").long()
        with torch.autocast(device.type, dtype=torch.float16):
            logits = model(**batch).float()
        logits, labels = logits.flatten(0, -2), labels.flatten()
        totals[0] += nn.functional.cross_entropy(logits, labels, reduction="sum")
        totals[1] += (logits.argmax(-1) == labels).sum()
    model.train()
    loss, correct = totals.tolist()
    n_labels = max(1, n_labels)
    return {"loss": loss / n_labels, "accuracy": correct / n_labels}


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
