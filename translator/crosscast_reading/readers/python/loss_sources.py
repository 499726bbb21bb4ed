"""What the losses of a program come from: which are exactly those of a library."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, cast

from crosscast.targets.source_support import load_object
from crosscast_reading.pysource.libraries.words import all_words
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.values.value import Instance
from crosscast_reading.readers.python.loss_flow import origin, returns
from crosscast_reading.readers.python.loss_kinds import (
    Found,
    gives_probabilities,
    loss_of_call,
    loss_of_value,
)
from crosscast_reading.readers.python.loss_values import (
    After,
    Criterion,
    LossValue,
    OneOf,
    Origin,
    Updated,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module

_LOSS_SCALE = re.compile(r"(?:\w+\.)*\w{0,60}loss_?scal(?:e|ing)\w{0,60}", re.I)
"""A factor that scales a loss by hand."""
_DIVIDED = re.compile(r"/ *(?:float\()?[\w.]{0,60}loss_?scal", re.I)
"""Where gradients are divided by it again."""
_MANY = 8
"""From how many values of a name on what they come from is kept."""
Seen = dict[tuple[object, ...], list[Found] | None]
"""What values come from; empty while it is being followed, None if it is not followed."""


def sources(node: ast.expr, module: Module) -> list[Found]:
    """Return the sources of the value of a loss, whichever calls of the program lead to it."""
    value = LossValue(node, module)
    return _sources(value, {}) or [_itself(value)]


def returned_sources(module: Module, function: Function, key: str | int) -> list[Found]:
    """Return the sources of the losses that a function returns, nothing where it returns nothing.

    Args:
        module: The module of the function.
        function: The function.
        key: The entry with the loss where a container is returned.
    """
    given = [each for node in returns(module, function) for each in _branches(node)]
    return [
        loss
        for node in given
        for loss in _sources(LossValue(node, module, key), {}) or sources(node, module)
    ]


def _branches(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return [*_branches(body), *_branches(orelse)]
        case ast.Constant(value=None):
            return []
    return [node]


def _sources(value: LossValue, seen: Seen) -> list[Found] | None:
    """Return the sources of a value, nothing if they are known already: a function calls itself.

    Of an entry of a container that is not followed None is returned, of any other value itself.
    """
    key = (value.node, value.key, value.calls)
    if key not in seen:
        seen[key] = []
        losses = _by_form(value) or _of_origin(value, origin(value), seen)
        if losses is None and value.key is None:
            losses = [_itself(value)]
        seen[key] = None if losses is None else list(dict.fromkeys(losses))
    return seen[key]


def _by_form(value: LossValue) -> list[Found] | None:
    """Return the loss that a framework's package knows by the form of its expression."""
    if value.key is not None:
        return None
    forms = (form(value) for form in _forms())
    return next(([loss] for loss in forms if loss is not None), None)


@cache
def _forms() -> tuple[Callable[[LossValue], Found | None], ...]:
    """Return the functions by which the installed packages know losses."""
    names = (words.loss_form for words in all_words() if words.loss_form)
    return tuple(cast("Callable[[LossValue], Found | None]", load_object(n)) for n in names)


def _itself(value: LossValue) -> Found:
    return Found("", value.text, value.module.span(value.node))


def _of_origin(value: LossValue, source: Origin, seen: Seen) -> list[Found] | None:
    match source:
        case OneOf(is_sum=False) if len(source.bindings) >= _MANY and value.followed:
            return _of_many(source)
        case OneOf(is_sum=False):
            return _of_parts(source, seen)
        case After(operation="divide" | "cast" | "scale", inner=inner):
            return _sources(inner, seen)
        case After(operation="mean" | "sum", inner=inner):
            return [_reduced(inner_loss, source) for inner_loss in _sources(inner, seen) or ()]
        case Criterion(call=call) if (loss := loss_of_call(call)) is not None:
            place = 0 if gives_probabilities(call) else None
            return [loss] if source.value.key == place else None
    return _of_object(value)


def _of_object(value: LossValue) -> list[Found] | None:
    """Return the loss that a called object computes."""
    match value:
        case LossValue(node=ast.Call(func=function), key=None):
            made = evaluate(function, value.module)
            if isinstance(made, Instance):
                return [loss_of_value(made, value.node, value.module)]
    return None


def _of_parts(source: OneOf, seen: Seen) -> list[Found] | None:
    """Return the sources of all parts; None if one of them is not followed."""
    losses: list[Found] = []
    for part in source.parts:
        match part:
            case LossValue() if (known := _sources(part, seen)) is not None:
                losses += known
            case Updated() if _changes_nothing(part):
                pass
            case _:
                return None
    return losses


def _of_many(source: OneOf) -> list[Found] | None:
    """Return the sources of a name with many values: all loops that share it ask for the same."""
    known = _kept(source.value.module)
    key = (source.value.calls, tuple((each.node, each.path) for each in source.bindings))
    if key not in known:
        known[key] = []
        known[key] = _of_parts(source, {})
    return known[key]


@once
def _kept(module: Module) -> Seen:
    """Return the sources found so far of the names with many values of a module."""
    return {}


def _changes_nothing(update: Updated) -> bool:
    """Whether a loss is divided, or multiplied by a loss scale that is divided out again."""
    match update:
        case Updated(operation="divide"):
            return True
        case Updated(operation="multiply", operand=factor) if _LOSS_SCALE.fullmatch(factor.text):
            modules = factor.module.program.modules
            return any(_DIVIDED.search(module.source.text) for module in modules)
    return False


def _reduced(loss: Found, reduction: After) -> Found:
    """Return a loss after a reduction."""
    if not loss.by_element:
        return loss
    if reduction.operation == "mean" and reduction.whole:
        return replace(loss, by_element=False)
    return Found("", loss.text, loss.place)
