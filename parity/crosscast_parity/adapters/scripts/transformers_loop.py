"""Training with Hugging Face's Trainer: everything it has an argument for is an argument."""

from __future__ import annotations

import argparse
from typing import Any

import emitted
import torch
from torch_rows import Order, Rows, make_optimizer, make_schedule, summed_loss
from transformers import Trainer, TrainerCallback, TrainingArguments


class Model(torch.nn.Module):
    """Returns logits, and the mean loss where the Trainer passes labels on."""

    def __init__(self, inner: torch.nn.Module, trace: Any) -> None:
        super().__init__()
        self.inner, self.trace = inner, trace

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        labels: torch.Tensor | None = None,
    ) -> dict[str, torch.Tensor]:
        """Return logits and loss as the library's models do."""
        logits = self.inner(input_ids, attention_mask, token_type_ids)
        self.trace.micro_batch(0.0, len(input_ids))  # the Trainer tells of the loss
        if labels is None:
            return {"logits": logits}
        known = (labels != -100).sum().clamp(min=1)
        return {"loss": summed_loss(logits, labels) / known, "logits": logits}


def sum_by_count(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> torch.Tensor:
    """A `compute_loss_func`: the window's labels are counted by the Trainer."""
    return summed_loss(outputs["logits"], labels) / num_items_in_batch


class Ordered(Trainer):
    """The Trainer, with the order of emitted.py."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Order:
        return Order(len(self.train_dataset))


class Watch(TrainerCallback):
    """Writes the trace from what the Trainer logs after every step."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.accelerator: Any = None
        self.scale = 1.0

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Look at the loss scale before it changes."""
        scaler = self.accelerator.scaler
        self.scale = scaler.get_scale() if scaler else 1.0

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **objects: Any) -> None:
        """Take the log of a step; the last log is about the run."""
        if "grad_norm" not in logs:
            return
        self.trace.losses = [logs["loss"]]
        self.trace.window(
            lr=logs["learning_rate"],
            grad_norm=logs["grad_norm"],
            scale=self.scale,
            skipped=self.accelerator.optimizer_step_was_skipped,
        )


def make_arguments(args: argparse.Namespace, settings: dict[str, Any]) -> TrainingArguments:
    """Return the recipe as the Trainer's arguments."""
    clipping = settings["clipping"]
    return TrainingArguments(
        output_dir=str(args.output / "trainer"),
        use_cpu=args.device == "cpu" or not torch.cuda.is_available(),
        seed=emitted.SETTINGS.seed,
        per_device_train_batch_size=emitted.SETTINGS.micro_batch_size,
        gradient_accumulation_steps=emitted.SETTINGS.accumulation_steps,
        max_steps=args.windows,
        max_grad_norm=clipping["max_norm"] if clipping["kind"] == "global_norm" else 0.0,
        fp16=settings["precision"] == "float16",
        bf16=settings["precision"] == "bfloat16",
        remove_unused_columns=False,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def train(
    args: argparse.Namespace, state: Any, rows: Any, trace: Any, settings: dict[str, Any]
) -> None:
    """Train until the trace is full."""
    state.optimizer = make_optimizer(state.optimizer)
    watch = Watch(trace)
    trainer = Ordered(
        model=Model(state.model, trace),
        args=make_arguments(args, settings),
        train_dataset=Rows(rows),
        optimizers=(state.optimizer, make_schedule(state.optimizer)),
        compute_loss_func=None if settings["normalize_by"] == "microbatch" else sum_by_count,
        callbacks=[watch],
    )
    watch.accelerator = trainer.accelerator
    trainer.train()
    state.model.train()
