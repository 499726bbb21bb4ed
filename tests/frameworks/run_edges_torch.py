"""Emitted steps at the edges: `run_edges_torch.py FOLDER...`, each with a step.py.

JSON by folder: `norms`, the traced norms of a model that is an embedding, then of one that gets
no gradients; `halves`, the modules with half weights once an optimizer was made for them, of
recipes with half weights.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

# isort: split
from crosscast_parity.inside.toy_worker import import_step
from frameworks.run_steps_torch import CPU

LAYERS: tuple[nn.Module, ...] = (
    nn.BatchNorm1d(4),
    nn.BatchNorm2d(4),
    nn.BatchNorm3d(4),
    nn.GroupNorm(2, 4),
    nn.InstanceNorm1d(4, affine=True),
    nn.InstanceNorm2d(4, affine=True),
    nn.InstanceNorm3d(4, affine=True),
    nn.LayerNorm(4),
    nn.RMSNorm(4),
    nn.SyncBatchNorm(4),
    nn.Conv2d(4, 4, 1),
    nn.Embedding(4, 4),
    nn.Linear(4, 4),
)


def looked_up(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return model(batch["labels"]).square().sum()


def without_the_model(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return (batch["labels"] * torch.ones((), requires_grad=True)).sum()


def norms(step: ModuleType) -> list[float]:
    found = []
    for loss in (looked_up, without_the_model):
        model = nn.Embedding(4, 2)
        state = step.TrainState(model, step.make_optimizer(model), CPU)
        before = model.weight.detach().clone()
        rows = [step.train_window(state, [{"labels": torch.arange(4)}], loss) for _ in range(3)]
        assert torch.equal(model.weight, before) == (loss is without_the_model)
        found += [row["grad_norm"] for row in rows]
    return found


def halves(step: ModuleType) -> list[str]:
    step.make_optimizer(nn.ModuleList(LAYERS))
    names = [type(layer).__name__ for layer in LAYERS if layer.weight.dtype != torch.float32]
    for layer in LAYERS:
        if hasattr(layer.weight, "master"):
            assert layer.weight.master.dtype == torch.float32
            assert layer.weight.dtype == layer.bias.dtype if hasattr(layer, "bias") else True
    return names


def report(folder: Path) -> dict[str, Any]:
    step = import_step(folder)
    if hasattr(step, "NORMALIZATIONS"):
        return {"halves": halves(step)}
    return {"norms": norms(step)}


def main(folders: list[str]) -> None:
    torch.set_num_threads(1)
    print(json.dumps({folder: report(Path(folder)) for folder in folders}))


if __name__ == "__main__":
    main(sys.argv[1:])
