"""Worker of the fuzz tests for Paddle: the toy's, with patterns of overflows."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from paddle import nn

# isort: split
from crosscast_paddle.inside.toy import counters, main
from fuzz.walk import window_patterns


def loss(model: Any, batch: dict[str, Any]) -> Any:
    return (model.weight * batch["x"]).sum()


def patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number."""
    model = nn.Linear(1, 1, bias_attr=False)
    state = step.TrainState(model, step.make_optimizer(model), step.make_scaler())
    scaler = state.scaler
    of_scaler = (scaler.get_init_loss_scaling, scaler.set_init_loss_scaling)
    return window_patterns(step, state, loss, counters, job["length"], of_scaler)


if __name__ == "__main__":
    main(patterns=patterns)
