"""Calls of methods of a base: `super().__init__()`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import ModuleObject
from crosscast_reading.pysource.machine.frames import Variables

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine


def is_super(node: ast.expr) -> bool:
    """Whether an expression is `super()`."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def of_base(machine: ModelMachine, node: ast.Call, name: str, frame: Variables) -> Any:
    """Call a method of a base; what a library's constructor does is known."""
    module = frame.module
    owner = module.class_of(node)
    scope = module.scopes.get(owner) if owner is not None else None
    held = _first_module(frame)
    if scope is not None and held is not None:
        for base in machine.bases(scope):
            method = machine.method(base, name)
            if method is not None:
                given, named = machine.arguments(node, frame)
                return machine.run_function(method, [held, *given], named)
    if name == "__init__":
        return None
    raise UnreadableError(f"super().{name}() is not carried", frame.module.span(node))


def _first_module(frame: Variables) -> ModuleObject | None:
    """Return `self` of the method around a place."""
    here: Variables | None = frame
    while here is not None:
        for value in here.names.values():
            if isinstance(value, ModuleObject):
                return value
        here = here.parent
    return None
