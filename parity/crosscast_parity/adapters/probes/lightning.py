"""Lightning's Trainer on the neutral cases, with automatic optimization."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.plugins.precision import MixedPrecision
from torch.utils.data import DataLoader

from crosscast_parity.adapters.cases import Case, NotAsked, Seen
from crosscast_parity.adapters.probes import toy_torch as toy

PACKAGES = ("lightning", "torch")
QUIET = {
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


class Module(LightningModule):
    """Loss, optimizer and schedule, as Lightning wants to be given them."""

    def __init__(self, case: Case, model: torch.nn.Module) -> None:
        super().__init__()
        self.case, self.model, self.seen = case, model, Seen.nothing()

    def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
        """Return the mean loss of a micro-batch."""
        return self.model(**batch).mean()

    def configure_optimizers(self) -> dict[str, Any]:
        """Return the optimizer and a schedule that ticks with it."""
        optimizer = toy.make_optimizer(self.case, self.model)
        schedule = toy.make_schedule(self.case, optimizer)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def on_train_batch_end(self, *_: Any) -> None:
        """Look at the state after a micro-batch."""
        scaler = getattr(self.trainer.precision_plugin, "scaler", None)
        toy.note(self.seen, self.model, self.optimizers(use_pl_optimizer=False), scaler)


def fit(case: Case, model: torch.nn.Module, **settings: Any) -> tuple[Module, Trainer]:
    """Train a model on the rows of a case."""
    module = Module(case, model)
    trainer = Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=case.epochs,
        accumulate_grad_batches=case.steps,
        gradient_clip_val=case.clip,
        **settings,
        **QUIET,
    )
    trainer.fit(module, DataLoader(toy.Rows(case), batch_size=case.micro))
    return module, trainer


def run(case: Case) -> Seen:
    """Train the toy."""
    if case.counted:
        raise NotAsked("no such setting")
    plugins = None
    if case.scale is not None:
        plugins = [MixedPrecision("16-mixed", "cpu", toy.make_scaler(case))]
    try:
        module, trainer = fit(case, toy.Toy(), plugins=plugins)
    except RuntimeError as error:
        if "fused" not in str(error):
            raise
        raise NotAsked("refused") from None
    module.seen.counter = trainer.global_step
    return module.seen


def half() -> dict[str, Any]:
    """Train in float16 on a CPU."""

    def train(model: torch.nn.Module) -> bool:
        _, trainer = fit(Case(name="half", rows=(1.0,)), model, precision="16-mixed")
        return getattr(trainer.precision_plugin, "scaler", None) is not None

    return toy.half_facts(train)
