"""Worker of the fuzz tests for PyTorch: the toy's, with patterns of overflows."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torch import nn

# isort: split
from crosscast_torch.inside.toy import DEVICE, counters, main, make_scaler
from fuzz.walk import window_patterns


def loss(model: Any, batch: dict[str, Any]) -> Any:
    return (model.weight * batch["x"]).sum()


def patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number."""
    model = nn.Linear(1, 1, bias=False).to(DEVICE)
    state = step.TrainState(model, step.make_optimizer(model), DEVICE, make_scaler(step))
    of_scaler = (state.scaler.state_dict, state.scaler.load_state_dict)
    return window_patterns(step, state, loss, counters, job["length"], of_scaler)


if __name__ == "__main__":
    main(patterns=patterns)
