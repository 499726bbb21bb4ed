"""The hints that stand in the source as texts, for the table of their translations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from source_trees import SOURCES, modules, text_of, tree_of

PLACE = "{}"
"""Stands for a value in the text of an f-string."""


def hint_texts() -> dict[str, Path]:
    """Return every hint without values, and the pattern of those with values, to its module.

    Hints that come from tables or are put together are not among them.
    """
    found: dict[str, Path] = {}
    for path in modules(*SOURCES):
        if path.name != "language.py" and any(
            word in text_of(path) for word in ("hint", "failure")
        ):
            constants = _constants(tree_of(path))
            for node in ast.walk(tree_of(path)):
                if isinstance(node, ast.Call):
                    for expression in _hints(node):
                        found |= dict.fromkeys(_texts(expression, constants), path)
    return found


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the names that a module gives to expressions."""
    return {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _hints(call: ast.Call) -> Iterator[ast.expr]:
    yield from (keyword.value for keyword in call.keywords if keyword.arg == "hint")
    if isinstance(call.func, ast.Name) and call.func.id == "failure":
        yield from call.args[2:]


def _texts(expression: ast.expr, constants: dict[str, ast.expr]) -> Iterator[str]:
    match expression:
        case ast.Constant(value=str(text)) if text:
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one, constants)
            yield from _texts(other, constants)
        case ast.JoinedStr(values=parts):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else PLACE for part in parts
            )
        case ast.Name(id=name) if name in constants:
            yield from _texts(constants[name], {})
        case _:
            pass
