"""Rows of trainers whose optimizer and schedule are PyTorch code emitted with the configuration."""

from __future__ import annotations

import crosscast_trainers.target.conditions as it
from crosscast.recipe import predicates
from crosscast.targets.capability import Row
from crosscast_trainers.target.rows import Facts

STOCK = ("sgd", "adam", "adamw", "adafactor")
_OWN = "torch/test_optimizer.py::test_there_is_no_lamb_and_no_lion"


def torch_rows(facts: Facts) -> tuple[Row, ...]:
    """Return the rows of what is emitted for optimizer, schedule, seed and loader."""
    return (
        facts.near("seed", "seeds are set; PyTorch's sampler orders the rows", "CC333"),
        facts.exact("data.shuffle", "make_loader"),
        facts.exact("batch", "batch_size of make_loader"),
        facts.exact("precision.tf32", "torch.set_float32_matmul_precision"),
        facts.adapted(
            "optimizer.name",
            "not in torch.optim: the emitted file defines the class",
            "CC367",
            it.optimizer_is_not(*STOCK),
        ),
        facts.adapted(
            "optimizer.rate_in_momentum",
            "torch.optim.SGD applies the rate outside the momentum: the emitted file replaces it",
            "CC367",
            predicates.rate_in_momentum,
        ),
        facts.lacks(
            "optimizer.eps_placement",
            "torch.optim adds epsilon after the bias correction",
            "CC339",
            predicates.raw_epsilon,
        ),
        facts.lacks(
            "optimizer.bias_correction",
            "torch.optim always corrects the moments",
            "CC339",
            predicates.uncorrected_adam,
        ),
        facts.exact("optimizer", "make_optimizer, parameter groups by type and name"),
        facts.exact("schedule", "make_schedule: LambdaLR of the formula"),
    )
