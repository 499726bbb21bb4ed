"""Parameters of functions and the arguments that a call gives for them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from crosscast_reading.pysource.programs.module import Function
from crosscast_reading.trainstep.frames.frame import CallFrame, Reference, bare


def bind(inner: CallFrame, call: ast.Call, function: Function, frame: CallFrame) -> None:
    """Give the parameters of a function what a call gives for them."""
    arguments = function.args
    names = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
    place = 1 if names and _is_method(inner, function, names[0]) else 0
    defaults(inner, function)
    record = frame.module.call(call)
    meanings = record.meanings
    for maker in meanings[0].partial if meanings else ():
        place = _positional(inner, names, place, maker.args[1:], frame)
        for keyword in maker.keywords:
            if keyword.arg is not None:
                inner.bound[keyword.arg] = Reference(keyword.value, frame)
    _positional(inner, names, place, call.args, frame)
    for keyword in call.keywords:
        if keyword.arg is not None:
            inner.bound[keyword.arg] = Reference(keyword.value, frame)


def _positional(
    inner: CallFrame, names: Sequence[str], place: int, given: Sequence[ast.expr], frame: CallFrame
) -> int:
    for argument in given:
        if isinstance(argument, ast.Starred):
            break
        if place < len(names):
            inner.bound[names[place]] = Reference(argument, frame)
        place += 1
    return place


def _is_method(inner: CallFrame, function: Function, first: str) -> bool:
    if inner.scope.self_name == first and inner.module.class_of(function) is not None:
        return True
    return any(isinstance(d, ast.Name) and d.id == "classmethod" for d in function.decorator_list)


def defaults(inner: CallFrame, function: Function) -> None:
    """Give the parameters of a function their defaults."""
    arguments = function.args
    home = bare(inner.module, inner.module.scope)
    positional = [*arguments.posonlyargs, *arguments.args]
    if arguments.defaults:
        tail = positional[-len(arguments.defaults) :]
        for parameter, default in zip(tail, arguments.defaults, strict=True):
            inner.bound[parameter.arg] = Reference(default, home)
    for parameter, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if given is not None:
            inner.bound[parameter.arg] = Reference(given, home)
