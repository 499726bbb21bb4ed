"""The public names in the modules of Paddle that are given, with their submodules."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys


def names_of(module_name: str) -> list[str]:
    """Return the names that can be read or imported from a module."""
    try:
        module = importlib.import_module(module_name)
    except ImportError:
        return []
    below = (entry.name for entry in pkgutil.iter_modules(getattr(module, "__path__", [])))
    return sorted(name for name in {*dir(module), *below} if not name.startswith("_"))


print(json.dumps({name: names_of(name) for name in sys.argv[1:]}))
