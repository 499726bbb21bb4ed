"""Lightning Fabric on the neutral cases: the loop of its page about gradient accumulation.

That page steps where `iteration % steps == 0`, counted from 0, and does not divide the loss.
Fabric itself decides nothing of this.
"""

from __future__ import annotations

from typing import Any

import torch
from lightning.fabric import Fabric
from lightning.fabric.plugins import MixedPrecision
from torch.utils.data import DataLoader

from crosscast_parity.adapters.cases import Case, NotAsked, Seen
from crosscast_parity.adapters.probes import toy_torch as toy

PACKAGES = ("lightning", "torch")
ASKED = ("tail", "clip_scaled", "clip_fused", "skip", "inside", "growth", "unscaled_overflow")
"""The other cases would be about that loop alone."""


def run(case: Case) -> Seen:
    """Train the toy."""
    if case.name not in ASKED:
        raise NotAsked("your loop decides")
    scaler = None if case.scale is None else toy.make_scaler(case)
    plugins = [] if scaler is None else [MixedPrecision("16-mixed", "cpu", scaler)]
    fabric = Fabric(accelerator="cpu", devices=1, plugins=plugins)
    model = toy.Toy()
    optimizer = toy.make_optimizer(case, model)
    model, optimizer = fabric.setup(model, optimizer)
    loader = fabric.setup_dataloaders(DataLoader(toy.Rows(case), batch_size=case.micro))
    seen = Seen.nothing()
    for _ in range(case.epochs):
        for iteration, batch in enumerate(loader):
            is_accumulating = iteration % case.steps != 0
            with fabric.no_backward_sync(model, enabled=is_accumulating):
                fabric.backward(model(**batch).mean())
            if not is_accumulating:
                if case.clip is not None:
                    clip(fabric, model, optimizer, case.clip)
                optimizer.step()
                optimizer.zero_grad()
            toy.note(seen, model, optimizer, scaler)
    return seen


def clip(fabric: Fabric, model: Any, optimizer: Any, limit: float) -> None:
    """Clip the gradients; Fabric refuses optimizers that can unscale by themselves."""
    try:
        fabric.clip_gradients(model, optimizer, max_norm=limit)
    except NotImplementedError:
        raise NotAsked("refused") from None


def half() -> dict[str, Any]:
    """Train in float16 on a CPU."""

    def train(model: torch.nn.Module) -> bool:
        fabric = Fabric(accelerator="cpu", devices=1, precision="16-mixed")
        prepared = fabric.setup(model)
        fabric.backward(prepared(torch.ones(2)).mean())
        return getattr(fabric._precision, "scaler", None) is not None

    return toy.half_facts(train)
