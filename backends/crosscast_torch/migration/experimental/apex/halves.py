"""Explicit casts to half: of the trained model, of its inputs, and those that do not matter."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.layout import Draft
from crosscast_reading.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_DTYPE = re.compile(r"HalfTensor|torch\.half\b|float16|is_half|\.dtype\b")
WRAPPERS = {"network_to_half": "1", "FP16Model": "network", "convert_network": ""}
"""Functions of apex.fp16_utils that make a model half, with the prefix of its weights' names."""


def casts_in(program: Program) -> Iterator[Call]:
    """Yield the calls `x.half()`."""
    for module in program.modules:
        for call in module.calls:
            if call.method == "half" and not call.node.args and call.receiver is not None:
                yield call


def is_guarded(call: Call) -> bool:
    """Whether a cast depends on a dtype, so that it has no effect on float32."""
    module, here = call.module, call.module.parent(call.node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If | ast.IfExp) and _DTYPE.search(module.text(here.test)):
            return True
        here = module.parent(here)
    return False


def is_apart(call: Call, homes: Iterable[tuple[Module, Function | None]], models: set[str]) -> bool:
    """Whether a cast does not concern the training loop.

    It is in a function that the training pass never calls, and that either runs no model, as a
    helper that saves weights, or casts a model itself, as an evaluation in half precision.

    Args:
        call: the cast.
        homes: the functions that contain the training loop.
        models: names of the trained models.
    """
    module, function = call.module, call.module.function_of(call.node)
    homes = list(homes)
    if function is None or any(home is function for _, home in homes):
        return False
    if function in _trained(module.program, homes):
        return False
    if _runs_a_model(function, models):
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "half"
            and _last(node.func.value) in models
            for node in walk(function)
        )
    return True


def _runs_a_model(function: Function, models: set[str]) -> bool:
    return any(isinstance(node, ast.Call) and _last(node.func) in models for node in walk(function))


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _trained(program: Program, homes: Iterable[tuple[Module, Function | None]]) -> set[ast.AST]:
    """Return the functions that training may run, directly or not; evaluations do not count."""
    functions: dict[str, list[ast.AST]] = {}
    for module in program.modules:
        for node in module.every(ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    found: set[ast.AST] = {home for _, home in homes if home is not None}
    found.update(functions.get("forward", ()), functions.get("__init__", ()))
    waiting = list(found)
    scripts = {module for module, home in homes if home is None}
    called = {
        _last(call.node.func)
        for module in scripts
        for call in module.calls
        if module.function_of(call.node) is None
    }
    while waiting or called:
        words = called or {
            _last(node.func) for node in walk(waiting.pop()) if isinstance(node, ast.Call)
        }
        called = set()
        for function in [function for word in words for function in functions.get(word, ())]:
            if function not in found and not _evaluates(function):
                found.add(function)
                waiting.append(function)
    return found


def _evaluates(function: ast.AST) -> bool:
    """Whether a function runs a model without gradients."""
    words = {_last(node) for node in walk(function) if isinstance(node, ast.Attribute | ast.Name)}
    return bool(words & {"no_grad", "inference_mode"}) and "backward" not in words


def remove_cast(draft: Draft, call: ast.Call) -> None:
    """Remove a cast, with its statement if it does nothing else."""
    assert isinstance(call.func, ast.Attribute)
    remove_around(draft, call, call.func.value)


def remove_around(draft: Draft, call: ast.Call, inner: ast.expr) -> None:
    """Replace a call by an expression within it, or remove a statement that does nothing else."""
    module = draft.module
    statement = module.statement_of(call)
    text = module.text(inner)
    match statement:
        case ast.Expr(value=value) if value is call:
            draft.remove(statement)
        case ast.Assign(targets=[target], value=value) if (
            value is call and module.text(target) == text
        ):
            draft.remove(statement)
        case _:
            draft.replace(call, text)
