"""Training with Accelerate: the loop of its guides, in `accumulate`."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import emitted
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from accelerate.utils import GradScalerKwargs
from torch_rows import make_loader, make_optimizer, make_schedule, mean_loss, total_norm

PRECISIONS = {"float32": "no", "float16": "fp16", "bfloat16": "bf16"}


def make_accelerator(device: torch.device, settings: dict[str, Any]) -> Accelerator:
    """Return the accelerator, with nothing left of another one in this process."""
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    scaling = settings["loss_scaling"]
    known = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
    handlers = [GradScalerKwargs(**{name: scaling[name] for name in known})] if scaling else []
    return Accelerator(
        cpu=device.type == "cpu",
        mixed_precision=PRECISIONS[settings["precision"]],
        gradient_accumulation_steps=emitted.SETTINGS.accumulation_steps,
        kwargs_handlers=handlers,
    )


def clip(accelerator: Accelerator, model: torch.nn.Module, clipping: dict[str, Any]) -> float:
    """Clip as the recipe says; return the norm before that."""
    if clipping["kind"] == "global_norm":
        return float(accelerator.clip_grad_norm_(model.parameters(), clipping["max_norm"]))
    accelerator.unscale_gradients()
    norm = float(total_norm(model))
    if clipping["kind"] == "value":
        torch.nn.utils.clip_grad_value_(model.parameters(), clipping["max_value"])
    return norm


def train(
    args: argparse.Namespace, state: Any, rows: Any, trace: Any, settings: dict[str, Any]
) -> None:
    """Train until the trace is full."""
    accelerator = make_accelerator(state.device, settings)
    state.optimizer = make_optimizer(state.optimizer)
    schedule = make_schedule(state.optimizer)
    model, optimizer, loader, schedule = accelerator.prepare(
        state.model, state.optimizer, make_loader(rows), schedule
    )
    scaler = accelerator.scaler
    for epoch in itertools.count():
        loader.set_epoch(epoch)
        for batch in loader:
            norm = 0.0
            with accelerator.accumulate(model):
                loss = mean_loss(model, batch)
                accelerator.backward(loss)
                lr, scale = optimizer.param_groups[0]["lr"], scaler.get_scale() if scaler else 1.0
                if accelerator.sync_gradients:
                    norm = clip(accelerator, model, settings["clipping"])
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            # Accelerate divides every loss by the number of accumulation steps.
            share = loss.detach() / accelerator.gradient_accumulation_steps
            trace.micro_batch(share, len(batch["labels"]))
            if accelerator.sync_gradients:
                skipped = accelerator.optimizer_step_was_skipped
                trace.window(lr=lr, grad_norm=norm, scale=scale, skipped=skipped)
            if trace.full:
                return
