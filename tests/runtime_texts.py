"""Modules of an emitted `runtime/` that need no framework, loaded from their texts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

PACKAGE = "runtime_of_texts"


def rows_module(files: Mapping[str, str]) -> ModuleType:
    """Return `runtime/rows.py`, whose package has `settings`."""
    _load(files, "settings")
    return _load(files, "rows")


def sources_module(files: Mapping[str, str]) -> ModuleType:
    """Return `runtime/sources.py` with what it imports."""
    for name in ("settings", "arrays", "formats"):
        _load(files, name)
    return _load(files, "sources")


def reading_modules(files: Mapping[str, str]) -> tuple[ModuleType, ModuleType]:
    """Return `runtime/sources.py`, and on top of it `runtime/workers.py`."""
    return sources_module(files), _load(files, "workers")


def checkpoint_module(files: Mapping[str, str], state: ModuleType) -> ModuleType:
    """Return `runtime/checkpoint.py` on top of a stand-in for the framework's `state`."""
    _load(files, "settings")
    sys.modules[f"{PACKAGE}.state"] = state
    return _load(files, "checkpoint")


def state_module(files: Mapping[str, str]) -> ModuleType:
    """Return `runtime/state.py` of TensorFlow, which imports no framework."""
    _load(files, "settings")
    return _load(files, "state")


def run_module(files: Mapping[str, str]) -> ModuleType:
    """Return `runtime/run.py`, with nothing behind what it takes from the framework's modules."""
    for name in ("device", "loader", "state"):
        stand_in = ModuleType(f"{PACKAGE}.{name}")
        vars(stand_in)["__getattr__"] = lambda attribute: None
        sys.modules[stand_in.__name__] = stand_in
    sources_module(files)
    for name in ("arguments", "folder", "rows", "checkpoint"):
        _load(files, name)
    return _load(files, "run")


def settings_of(files: Mapping[str, str]) -> Any:
    """Return what train.py tells the runtime, without what else is in it."""
    space = dict(vars(_load(files, "settings")))
    texts = (files.get(path, "") for path in ("model.py", "train.py"))
    assigned = {
        node.targets[0].id: node
        for text in texts
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }

    def assign(name: str) -> None:
        """Assign a constant, and before it those that it is made of."""
        if name in space or name not in assigned:
            return
        for node in ast.walk(assigned[name].value):
            if isinstance(node, ast.Name):
                assign(node.id)
        exec(compile(ast.Module([assigned[name]], []), "train.py", "exec"), space)

    assign("SETTINGS")
    return space["SETTINGS"]


def _load(files: Mapping[str, str], name: str) -> ModuleType:
    package = sys.modules.setdefault(PACKAGE, ModuleType(PACKAGE))
    package.__path__ = []
    module = ModuleType(f"{PACKAGE}.{name}")
    vars(module)["__package__"] = PACKAGE
    sys.modules[module.__name__] = module
    exec(compile(files[f"runtime/{name}.py"], f"runtime/{name}.py", "exec"), vars(module))
    return module
