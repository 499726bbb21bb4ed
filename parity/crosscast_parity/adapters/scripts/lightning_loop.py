"""Training with Lightning's Trainer: automatic optimization, one LightningModule."""

from __future__ import annotations

import argparse
from typing import Any

import emitted
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.plugins.precision import MixedPrecision
from lightning.pytorch.utilities import grad_norm
from torch_rows import make_loader, make_optimizer, make_schedule, mean_loss

PRECISIONS = {"float32": "32-true", "float16": "16-mixed", "bfloat16": "bf16-mixed"}


class Module(LightningModule):
    """The model with its optimizer and schedule; looks on while it is trained."""

    def __init__(self, state: Any, trace: Any) -> None:
        super().__init__()
        self.model, self.trace = state.model, trace
        self.made = make_optimizer(state.optimizer)
        self.steps = 0
        self.before: dict[str, float] = {}

    def configure_optimizers(self) -> dict[str, Any]:
        """Return the optimizer, and the schedule as one that ticks with its steps."""
        schedule = {"scheduler": make_schedule(self.made), "interval": "step"}
        return {"optimizer": self.made, "lr_scheduler": schedule}

    def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
        """Return the mean loss of a micro-batch."""
        loss = mean_loss(self.model, batch)
        # Lightning divides every loss by the number of accumulation steps.
        share = loss.detach() / self.trainer.accumulate_grad_batches
        self.trace.micro_batch(share, len(batch["labels"]))
        return loss

    def scale(self) -> float:
        """The loss scale now."""
        scaler = getattr(self.trainer.precision_plugin, "scaler", None)
        return float(scaler.get_scale()) if scaler else 1.0

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Look at unscaled gradients before they are clipped."""
        norm = grad_norm(self.model, norm_type=2)["grad_2.0_norm_total"]
        rate = optimizer.param_groups[0]["lr"]
        self.before = {"lr": rate, "grad_norm": float(norm), "scale": self.scale()}

    def on_train_batch_end(self, *_: Any) -> None:
        """Write the row of a window whose step was made."""
        if self.trainer.global_step > self.steps:
            self.steps = self.trainer.global_step
            skipped = self.scale() < self.before["scale"]
            self.trace.window(**self.before, skipped=skipped)


def make_trainer(args: argparse.Namespace, settings: dict[str, Any]) -> Trainer:
    """Return the recipe as a Trainer."""
    clipping, scaling = settings["clipping"], settings["loss_scaling"]
    limits = {"global_norm": "max_norm", "value": "max_value"}
    algorithms = {"global_norm": "norm", "value": "value"}
    on_gpu = args.device != "cpu" and torch.cuda.is_available()
    precision: dict[str, Any] = {"precision": PRECISIONS[settings["precision"]]}
    if scaling and on_gpu:
        known = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
        scaler = torch.amp.GradScaler("cuda", **{name: scaling[name] for name in known})
        precision = {"plugins": [MixedPrecision("16-mixed", "cuda", scaler)]}
    return Trainer(
        accelerator="gpu" if on_gpu else "cpu",
        devices=1,
        max_epochs=-1,
        max_steps=args.windows,
        accumulate_grad_batches=emitted.SETTINGS.accumulation_steps,
        gradient_clip_val=clipping.get(limits.get(clipping["kind"], "")),
        gradient_clip_algorithm=algorithms.get(clipping["kind"]),
        default_root_dir=args.output,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **precision,
    )


def train(
    args: argparse.Namespace, state: Any, rows: Any, trace: Any, settings: dict[str, Any]
) -> None:
    """Train until the trace is full."""
    module = Module(state, trace)
    make_trainer(args, settings).fit(module, make_loader(rows))
    state.optimizer = module.made
    state.model.to(state.device).train()
