"""Gradients that a clip written by hand binds to a local name and loses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Span
from crosscast.pysource.programs.module import Function, Module
from crosscast.pysource.programs.program import Program
from crosscast.pysource.syntax.nodes import walk
from crosscast.readers.python.library_calls import uses

_CLIPS = re.compile(r"clip", re.I)
_FACTOR = re.compile(r"clip|coef|scale|norm|ratio", re.I)
_PRODUCTS = frozenset({"mul", "multiply", "scale", "div", "divide"})
_STORES = frozenset({"set_value", "copy_", "assign", "append", "setattr", "add_", "mul_", "zero_"})


def lost_clips(program: Program) -> Iterator[tuple[Span, str, Span | None]]:
    """Yield where gradients are clipped for nothing, the name they get, and the helper's line.

    That is the call of the function that clips them, or the line itself where nothing calls it.
    """
    rebinds = uses(program, "paddle")
    for module in program.modules:
        for loop in module.every(ast.For):
            function = module.function_of(loop)
            lost = _lost(loop, function, module, rebinds) if function is not None else None
            if lost is None or function is None or not _CLIPS.search(function.name):
                continue
            name, line = lost
            sites = program.sites(module, function)
            for site in sites:
                yield site.module.span(site.node), name, module.span(line)
            if not sites:
                yield module.span(line), name, None


def _lost(
    loop: ast.For, function: Function, module: Module, rebinds: bool
) -> tuple[str, ast.stmt] | None:
    """Return the unused name that the last statement of a loop assigns a product to.

    Args:
        loop: a loop of the function.
        function: that clips, by its name.
        module: of both.
        rebinds: whether `g *= x` makes a new tensor, as in Paddle.
    """
    last = loop.body[-1]
    while isinstance(last, ast.If) and not last.orelse:
        last = last.body[-1]
    match last:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_product(value, name):
            pass
        case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value) if rebinds:
            if not _is_product(ast.BinOp(target, op, value), name):
                return None
        case _:
            return None
    if not _holds_gradients(name, loop, module):
        return None
    if any(isinstance(each, ast.Call) and _stores(each) for each in walk(loop)):
        return None
    reads = [
        each
        for each in walk(function)
        if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
    ]
    inside = {*walk(loop)}
    rebound = _is_bound_first(name, loop)
    if not rebound or any(each not in inside and each.lineno > loop.lineno for each in reads):
        return None
    return name, last


def _is_product(node: ast.expr, name: str) -> bool:
    """Whether a value is a gradient times a factor, as a new tensor."""
    words = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    if name not in words or not any(_FACTOR.search(word) for word in words if word != name):
        return False
    match node:
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            return True
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _PRODUCTS
    return False


def _holds_gradients(name: str, loop: ast.For, module: Module) -> bool:
    """Whether a name is a gradient: one of a list of them, or `parameter.grad`."""
    if isinstance(loop.target, ast.Name) and loop.target.id == name:
        return "grad" in module.text(loop.iter).lower() or name in ("g", "grad", "gradient")
    for each in loop.body:
        match each:
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Attribute(attr="grad")):
                if bound == name:
                    return True
    return any(isinstance(e, ast.Name) and e.id == name for e in ast.walk(loop.target)) and (
        "grad" in module.text(loop.iter).lower()
    )


def _is_bound_first(name: str, loop: ast.For) -> bool:
    """Whether each round gives the name a new value before anything reads it."""
    if any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(loop.target)):
        return True
    for statement in loop.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=bound)], value=value) if bound == name:
                return not any(isinstance(e, ast.Name) and e.id == name for e in ast.walk(value))
        if any(isinstance(e, ast.Name) and e.id == name for e in ast.walk(statement)):
            return False
    return False


def _stores(call: ast.Call) -> bool:
    """Whether a call changes something in place."""
    match call.func:
        case ast.Attribute(attr=method):
            return method in _STORES or method.endswith("_") or _has_output(call)
        case ast.Name(id=name):
            return name in _STORES or _has_output(call)
    return _has_output(call)


def _has_output(call: ast.Call) -> bool:
    return any(each.arg in ("out", "output") for each in call.keywords)
