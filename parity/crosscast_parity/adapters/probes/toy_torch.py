"""The toy of the neutral cases in PyTorch, and what can be seen of it from outside."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import Dataset

from crosscast_parity.adapters.cases import START, Case, Seen


class Toy(torch.nn.Module):
    """One weight; the loss of a row is weight * row."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([START]))

    def forward(self, rows: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        """Return the loss of every row."""
        return self.weight * rows


class Rows(Dataset[dict[str, torch.Tensor]]):
    """The rows of a case; `labels` are only there to be counted."""

    def __init__(self, case: Case) -> None:
        self.rows = torch.tensor(case.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"rows": self.rows[index], "labels": torch.tensor(0)}


def make_optimizer(case: Case, model: torch.nn.Module) -> torch.optim.Optimizer:
    """SGD or AdamW with the rate 1."""
    fused = True if case.fused else None
    if case.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), lr=1.0, fused=fused)
    return torch.optim.AdamW(model.parameters(), lr=1.0, weight_decay=0.0, fused=fused)


def make_schedule(case: Case, optimizer: torch.optim.Optimizer) -> Any:
    """The case's rates as a LambdaLR."""
    return torch.optim.lr_scheduler.LambdaLR(optimizer, case.rate)


def make_scaler(case: Case) -> torch.amp.GradScaler:
    """PyTorch's scaler for CPUs, which the trainers do not make themselves."""
    return torch.amp.GradScaler("cpu", init_scale=case.scale or 1.0, growth_interval=case.interval)


def note(seen: Seen, model: torch.nn.Module, optimizer: Any, scaler: Any) -> None:
    """Record weight, scale and the optimizer's slots after a micro-batch."""
    weight = next(model.parameters())
    slots = optimizer.state.get(weight, {})
    known = [
        float(slots[name].flatten()[0])
        for name in ("step", "exp_avg", "exp_avg_sq")
        if name in slots
    ]
    seen.add(float(weight.detach().flatten()[0]), scaler.get_scale() if scaler else None, known)


class Matmul(torch.nn.Module):
    """Says in which type a matmul was computed: that of its result."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(2, 2)
        self.computed = ""

    def forward(self, rows: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        """Return a loss of every row."""
        result = self.dense(rows.reshape(-1, 1).expand(-1, 2))
        self.computed = str(result.dtype).removeprefix("torch.")
        return result.float().sum(-1)


def half_facts(train: Callable[[torch.nn.Module], bool]) -> dict[str, Any]:
    """Request float16 on this CPU as documented by the trainer; report the result.

    Args:
        train: trains a model in float16; says whether there was a scaler.
    """
    model = Matmul()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            scaler = train(model)
        except (RuntimeError, ValueError) as error:
            return {"refused": str(error)[:200]}
    words = [str(w.message) for w in caught]
    warned = [w for w in words if any(k in w for k in ("fp16", "float16", "16-mixed"))]
    return {"computed": model.computed, "scaler": scaler, "warned": bool(warned)}
