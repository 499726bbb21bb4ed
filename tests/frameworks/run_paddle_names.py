"""Which of the given names Paddle has, and whether they can be called."""

from __future__ import annotations

import importlib
import json
import sys


def found(name: str) -> bool:
    """Whether a qualified name of paddle exists."""
    parts = name.split(".")
    here: object = importlib.import_module(parts[0])
    for place, part in enumerate(parts[1:], 2):
        if not hasattr(here, part):
            try:
                importlib.import_module(".".join(parts[:place]))
            except ImportError:
                return False
        here = getattr(here, part)
    return True


print(json.dumps([name for name in sys.argv[1:] if not found(name)]))
