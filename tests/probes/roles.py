"""Lists public classes of a framework by what they derive from: `roles.py PACKAGE`, JSON out."""

from __future__ import annotations

import importlib
import inspect
import json
import sys

PLACES = {
    "torch": (
        ("optimizer", "torch.optim", "Optimizer"),
        ("schedule", "torch.optim.lr_scheduler", "LRScheduler"),
        ("scaler", "torch.amp", "GradScaler"),
        ("data_loader", "torch.utils.data", "DataLoader"),
    ),
    "paddle": (
        ("optimizer", "paddle.optimizer", "Optimizer"),
        ("schedule", "paddle.optimizer.lr", "LRScheduler"),
        ("scaler", "paddle.amp", "GradScaler"),
        ("clip", "paddle.nn", "ClipGradBase"),
        ("data_loader", "paddle.io", "DataLoader"),
    ),
    "keras": (
        ("optimizer", "keras.optimizers", "Optimizer"),
        ("schedule", "keras.optimizers.schedules", "LearningRateSchedule"),
    ),
}
"""Package to roles, modules, and the base of the classes with the role."""


def main() -> None:
    """Answer with the names of each role."""
    answer = {}
    for role, place, name in PLACES[sys.argv[1]]:
        module = importlib.import_module(place)
        base = getattr(module, name, None)
        if base is None:  # Paddle's base of clips is not public
            base = importlib.import_module("paddle.nn.clip").ClipGradBase
        answer[role] = sorted(
            f"{place}.{word}"
            for word, found in inspect.getmembers(module, inspect.isclass)
            if issubclass(found, base) and not word.startswith("_")
        )
    print(json.dumps(answer))


main()
