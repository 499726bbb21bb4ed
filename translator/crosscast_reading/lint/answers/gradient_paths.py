"""Which model an optimizer has, and what cuts values off from the gradients."""

from __future__ import annotations

import ast

from crosscast_reading.trainstep.events import Event

CUT = frozenset({"detach", "detach_", "item", "numpy", "data"})
"""What is asked of a tensor where only its values are wanted."""


def model_of(event: Event) -> str:
    """Return the only model that an optimizer was made for, as the source writes it."""
    module = event.module
    names = {
        module.text(call.func.value)
        for node in module.every(ast.Assign)
        if event.subject in map(module.text, node.targets)
        for call in ast.walk(node.value)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr == "parameters"
    }
    return names.pop() if len(names) == 1 else ""
