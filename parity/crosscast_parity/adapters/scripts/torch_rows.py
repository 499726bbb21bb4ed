"""Rows, their order, loss and optimizer of emitted.py, as PyTorch's trainers take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import emitted
import torch
from rates import learning_rate
from runtime.rows import epoch_order
from torch.utils.data import DataLoader, Dataset, Sampler


class Rows(Dataset[dict[str, torch.Tensor]]):
    """The training rows."""

    def __init__(self, rows: dict[str, Any]) -> None:
        self.rows = {name: torch.as_tensor(array) for name, array in rows.items()}

    def __len__(self) -> int:
        return len(self.rows["labels"])

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {name: array[index] for name, array in self.rows.items()}


class Order(Sampler[int]):
    """The order of every epoch. Trainers call `set_epoch`."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows, self.epoch = n_rows, 0

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[int]:
        seed, shuffle = emitted.SETTINGS.seed, emitted.SETTINGS.shuffle
        return iter(epoch_order(self.n_rows, self.epoch, seed, shuffle).tolist())

    def set_epoch(self, epoch: int) -> None:
        """Go to an epoch, counted from 0."""
        self.epoch = epoch


def make_loader(rows: dict[str, Any]) -> DataLoader[dict[str, torch.Tensor]]:
    """Return the loader of micro-batches."""
    data = Rows(rows)
    return DataLoader(data, batch_size=emitted.SETTINGS.micro_batch_size, sampler=Order(len(data)))


def make_optimizer(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Return the optimizer unfused: trainers clip and look for overflow outside of it."""
    groups = [
        group | ({"fused": None} if "fused" in group else {}) for group in optimizer.param_groups
    ]
    return type(optimizer)(groups)


def make_schedule(optimizer: torch.optim.Optimizer) -> torch.optim.lr_scheduler.LambdaLR:
    """Return the schedule, which the trainer moves."""
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda position: learning_rate(position) / emitted.LEARNING_RATE
    )


def summed_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Summed cross-entropy of a micro-batch, in float32."""
    return torch.nn.functional.cross_entropy(logits.float(), labels.long(), reduction="sum")


def mean_loss(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Mean cross-entropy of a micro-batch, in float32: the loss that trainers expect."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    labels = batch["labels"]
    return summed_loss(model(**inputs), labels) / (labels != -100).sum().clamp(min=1)


def total_norm(model: torch.nn.Module) -> torch.Tensor:
    """Global norm of the gradients as they are."""
    return torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
