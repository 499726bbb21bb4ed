"""The modules that a backend brings into the process of its framework."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def module_of(inside: str, name: str) -> Any:
    """Return a module of a backend's package `inside`; None if it has none of that name.

    Args:
        inside: name of the package; empty for a script of no framework that is known.
        name: of the module.
    """
    if not inside or importlib.util.find_spec(f"{inside}.{name}") is None:
        return None
    return importlib.import_module(f"{inside}.{name}")
