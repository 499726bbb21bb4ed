"""Tries arguments of optimizers: `foreign_arguments.py PACKAGE ROWS`, JSON in and out.

A row is a pattern of names and the arguments that none of its classes should have; the answer says
which class takes one of them all the same.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from typing import Any

ROOMS = {
    "torch": ("torch.optim", "torch.optim"),
    "paddle": ("paddle.optimizer", "paddle.optimizer"),
    "keras": ("keras.optimizers", "keras.optimizers"),
    "tf_keras": ("tf_keras.optimizers", "keras.optimizers"),
}
"""Package to the module with the optimizers, and how rows call it."""


def takes(made: Any, word: str) -> bool:
    """Whether a class has an argument, or takes what it does not know without a word."""
    found = inspect.signature(made.__init__).parameters
    if word in found:
        return True
    if not any(each.kind is each.VAR_KEYWORD for each in found.values()):
        return False
    try:
        made(**{word: 0.9})
    except (TypeError, ValueError):
        return False
    return True


def main() -> None:
    """Answer for one package."""
    package, rows = sys.argv[1], json.loads(sys.argv[2])
    module, shown = ROOMS[package]
    room = importlib.import_module(module)
    classes = {f"{shown}.{n}": c for n, c in vars(room).items() if inspect.isclass(c)}
    tried, taken = [], []
    for pattern, words in rows:
        for name, made in sorted(classes.items()):
            if re.fullmatch(pattern, name) and hasattr(made, "__init__"):
                tried.append(name)
                taken += [[name, word] for word in words if takes(made, word)]
    print(json.dumps({"tried": tried, "taken": taken}))


if __name__ == "__main__":
    main()
