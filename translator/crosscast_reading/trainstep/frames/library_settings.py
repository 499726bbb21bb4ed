"""Micro-batches of a window as the settings of a library say."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.values.combine import one_of, settled
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Unknown, Value
from crosscast_reading.trainstep.frames.frame import CallFrame

_ARGUMENTS = ("gradient_accumulation_steps", "gradient_accumulation_plugin", "num_steps")


def library_steps(node: ast.expr, frame: CallFrame) -> Value:
    """Return how many micro-batches an Accelerator (or an engine) puts into a window."""
    text = frame.module.text(node)
    makers = makers_of(node, frame)
    if not makers:
        return Unknown(text, f"the value of {text} is unknown")
    return one_of([(condition, _steps(made, text)) for condition, made in makers])


def _steps(made: Call, text: str) -> Value:
    if not made.name.endswith("Accelerator"):
        return Unknown(text, "the configuration of the library says it", "config")
    given = _given(made)
    if given is not None:
        return given
    if made.has_star:
        return Unknown(text, "its arguments are not to be seen")
    return Known(1, "library_default")


def given_steps(node: ast.expr, frame: CallFrame) -> Value | None:
    """Return the number of micro-batches that an Accelerator was given, known or not."""
    makers = makers_of(node, frame)
    given = [(c, _given(made) if made.name.endswith("Accelerator") else None) for c, made in makers]
    steps = [(condition, value) for condition, value in given if value is not None]
    return one_of(steps) if steps and len(steps) == len(makers) else None


def _given(made: Call) -> Value | None:
    for name in _ARGUMENTS:
        given = made.argument(name)
        if isinstance(given, Instance) and isinstance(given.call, Call):
            given = given.call.argument("num_steps")
        if given is not None and not (isinstance(given, Known) and given.value is None):
            return given
    return None


def maker_call(node: ast.expr, frame: CallFrame) -> Call | None:
    """Return the call that made an object; None if it may be one of several."""
    makers = makers_of(node, frame)
    return makers[0][1] if len(makers) == 1 else None


def makers_of(node: ast.expr, frame: CallFrame, depth: int = 0) -> list[tuple[str, Call]]:
    """Return the calls that may have made an object, with the condition of each.

    The list is empty if one of the options is not to be seen.
    """
    if isinstance(node, ast.Name) and depth < 8:
        if node.id in frame.bound and node.id not in frame.latest:
            reference = frame.bound[node.id]
            return makers_of(reference.node, reference.frame, depth + 1)
        if frame.outer is not None and node.id not in frame.scope.bindings:
            return makers_of(node, frame.outer, depth + 1)
    value = settled(frame.value(node))
    options = value.options if isinstance(value, Choice) else (("", value),)
    makers: list[tuple[str, Call]] = []
    for condition, option in options:
        if not (isinstance(option, Instance) and isinstance(option.call, Call)):
            return []
        makers.append((condition, option.call))
    return makers
