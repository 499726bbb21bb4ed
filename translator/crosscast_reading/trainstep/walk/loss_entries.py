"""Losses in containers: what `out["loss"]`, `out.loss` and `losses[k]` hold after an assignment."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.losses import Loss, loss_of

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker


def forget_entries(name: str, frame: CallFrame) -> None:
    """Forget what the entries of a variable held that gets a new value."""
    for known in [k for k in frame.losses if k.startswith((f"{name}[", f"{name}."))]:
        del frame.losses[known]


def entries_of_literal(name: str, value: ast.expr, frame: CallFrame) -> Iterator[tuple[str, Loss]]:
    """Yield name and state of the entries of a variable that gets a literal container."""
    for key, part in _entries(value):
        yield f"{name}[{key!r}]", loss_of(part, frame)


def _entries(value: ast.expr) -> Iterator[tuple[object, ast.expr]]:
    match value:
        case ast.Dict(keys=keys, values=values):
            for key, part in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant):
                    yield key.value, part
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            yield from ((k.arg, k.value) for k in keywords if k.arg is not None)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            if not any(isinstance(part, ast.Starred) for part in parts):
                yield from enumerate(parts)


def container_of_each(walker: Walker, target: ast.Subscript, frame: CallFrame) -> str:
    """Return the container whose every entry a loop assigns: `for k in losses: losses[k] = ...`."""
    key = target.slice
    if not walker.heads or not isinstance(key, ast.Name):
        return ""
    loop = walker.heads[-1].loop.node
    if not isinstance(loop, ast.For) or key.id not in _names(loop.target):
        return ""
    text = frame.module.text(target.value)
    over = frame.module.text(loop.iter)
    each = (text, f"{text}.keys()", f"{text}.items()", f"list({text})", f"list({text}.keys())")
    counted = (f"range(len({text}))", f"enumerate({text})", f"list({text}.items())")
    return canonical(target.value, frame) if over in (*each, *counted) else ""


def _names(target: ast.expr) -> set[str]:
    """Return the name of a key or an index among the targets of a loop: the first."""
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    return {first.id} if isinstance(first, ast.Name) else set()
