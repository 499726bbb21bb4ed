"""Micro-batches of a window as the settings of a library say."""

from __future__ import annotations

import ast

from crosscast.pysource.programs.call import Call
from crosscast.pysource.values.value import Choice, Instance, Known, Unknown, Value
from crosscast.trainstep.frames.frame import Frame

_ARGUMENTS = ("gradient_accumulation_steps", "gradient_accumulation_plugin", "num_steps")


def library_steps(node: ast.expr, frame: Frame) -> Value:
    """Return how many micro-batches an Accelerator (or an engine) puts into a window."""
    text = frame.module.text(node)
    made = maker_call(node, frame)
    if made is None:
        return Unknown(text, f"the value of {text} is unknown")
    if not made.name.endswith("Accelerator"):
        return Unknown(text, "the configuration of the library says it", "config")
    given = _given(made)
    if given is not None:
        return given
    if made.has_star:
        return Unknown(text, "its arguments are not to be seen")
    return Known(1, "library_default")


def given_steps(node: ast.expr, frame: Frame) -> Value | None:
    """Return what an Accelerator was given as its number of micro-batches, known or not."""
    made = maker_call(node, frame)
    return _given(made) if made is not None and made.name.endswith("Accelerator") else None


def _given(made: Call) -> Value | None:
    for name in _ARGUMENTS:
        given = made.argument(name)
        if isinstance(given, Instance) and isinstance(given.call, Call):
            given = given.call.argument("num_steps")
        if given is not None and not (isinstance(given, Known) and given.value is None):
            return given
    return None


def maker_call(node: ast.expr, frame: Frame, depth: int = 0) -> Call | None:
    """Return the call that made an object."""
    if isinstance(node, ast.Name) and depth < 8:
        if node.id in frame.bound and node.id not in frame.latest:
            found = frame.bound[node.id]
            return maker_call(found.node, found.frame, depth + 1)
        if frame.outer is not None and node.id not in frame.scope.bindings:
            return maker_call(node, frame.outer, depth + 1)
    value = first_of(frame.value(node))
    if isinstance(value, Instance) and isinstance(value.call, Call):
        return value.call
    return None


def first_of(value: Value) -> Value:
    """Return a value as it is with the defaults of the flags."""
    while isinstance(value, Choice) and value.options:
        value = value.options[0][1]
    return value
