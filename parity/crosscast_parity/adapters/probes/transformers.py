"""Hugging Face's Trainer on the neutral cases."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

from crosscast_parity.adapters.cases import Case, Seen
from crosscast_parity.adapters.probes import toy_torch as toy

PACKAGES = ("transformers", "accelerate", "torch")


class Losses(torch.nn.Module):
    """Returns its loss, the mean of a micro-batch, as the library's models do."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, rows: torch.Tensor, labels: Any = None) -> dict[str, torch.Tensor]:
        """Return the loss and what it is made of."""
        losses = self.inner(rows)
        return {"loss": losses.mean(), "losses": losses}


def summed(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> torch.Tensor:
    """A `compute_loss_func`: the Trainer passes the divisor of the sum."""
    total: torch.Tensor = outputs["losses"].sum() / num_items_in_batch
    return total


class Watch(TrainerCallback):
    """Looks at the state after every micro-batch."""

    def __init__(self) -> None:
        self.seen = Seen.nothing()
        self.scaler: Any = None

    def on_substep_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """After a micro-batch without an optimizer step."""
        toy.note(self.seen, objects["model"], objects["optimizer"], self.scaler)

    def on_step_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """After a micro-batch with one."""
        toy.note(self.seen, objects["model"], objects["optimizer"], self.scaler)


def fit(case: Case, model: torch.nn.Module, folder: str, watch: Watch, *, fp16: bool) -> Trainer:
    """Train a model on the rows of a case."""
    arguments = TrainingArguments(
        output_dir=folder,
        use_cpu=True,
        per_device_train_batch_size=case.micro,
        gradient_accumulation_steps=case.steps,
        num_train_epochs=case.epochs,
        max_grad_norm=case.clip or 0.0,
        fp16=fp16,
        train_sampling_strategy="sequential",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
    )
    optimizer = toy.make_optimizer(case, model)
    trainer = Trainer(
        model=Losses(model),
        args=arguments,
        train_dataset=toy.Rows(case),
        optimizers=(optimizer, toy.make_schedule(case, optimizer)),
        compute_loss_func=summed if case.counted else None,
        callbacks=[watch],
    )
    if case.scale is not None:
        watch.scaler = trainer.accelerator.scaler = toy.make_scaler(case)
        trainer.accelerator.native_amp = True
    trainer.train()
    return trainer


def run(case: Case) -> Seen:
    """Train the toy."""
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        trainer = fit(case, toy.Toy(), folder, watch, fp16=case.scale is not None)
    watch.seen.counter = trainer.state.global_step
    return watch.seen


def half() -> dict[str, Any]:
    """Train in float16 on a CPU."""

    def train(model: torch.nn.Module) -> bool:
        case = Case(name="half", rows=(1.0,))
        with tempfile.TemporaryDirectory() as folder:
            trainer = fit(case, model, folder, Watch(), fp16=True)
        return trainer.accelerator.scaler is not None

    return toy.half_facts(train)
