"""Worker of the fuzz tests for Paddle: the toy's, with patterns of overflows."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from paddle import nn

# isort: split
from crosscast_paddle.inside.toy import counters, main
from fuzz.walk import walk


def patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number."""
    model = nn.Linear(1, 1, bias_attr=False)
    state = step.TrainState(model, step.make_optimizer(model), step.make_scaler())
    seen: list[Any] = []

    def visit(overflow: bool) -> None:
        batch = {"labels": np.zeros(1), "x": np.float32(np.inf if overflow else 0.0)}
        row = step.train_window(state, [batch], lambda m, b: (m.weight * b["x"]).sum())
        seen.append((row["scale"], row["skipped"], *counters(state)))

    def save() -> Any:
        machine = getattr(state, "loss_scale", None)
        return machine and replace(machine)

    def restore(saved: Any) -> None:
        if saved:
            state.loss_scale = replace(saved)
            state.scaler.set_init_loss_scaling(saved.scale)

    walk(job["length"], visit, save, restore)
    return {"seen": seen}


if __name__ == "__main__":
    main(patterns=patterns)
