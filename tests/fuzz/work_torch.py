"""Worker of the fuzz tests for PyTorch: the toy's, with patterns of overflows."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from torch import nn

# isort: split
from crosscast_torch.inside.toy import DEVICE, counters, main, make_scaler
from fuzz.walk import walk


def patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number."""
    model = nn.Linear(1, 1, bias=False).to(DEVICE)
    state = step.TrainState(model, step.make_optimizer(model), DEVICE, make_scaler(step))
    seen: list[Any] = []

    def visit(overflow: bool) -> None:
        batch = {"labels": np.zeros(1), "x": np.float32(np.inf if overflow else 0.0)}
        row = step.train_window(state, [batch], lambda m, b: (m.weight * b["x"]).sum())
        seen.append((row["scale"], row["skipped"], *counters(state)))

    def save() -> tuple[Any, ...]:
        machine = getattr(state, "loss_scale", None)
        return state.scaler.state_dict(), machine and replace(machine)

    def restore(saved: tuple[Any, ...]) -> None:
        state.scaler.load_state_dict(saved[0])
        if saved[1]:
            state.loss_scale = replace(saved[1])

    walk(job["length"], visit, save, restore)
    return {"seen": seen}


if __name__ == "__main__":
    main(patterns=patterns)
