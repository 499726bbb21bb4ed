"""The hints that stand in the source as texts, for the table of their translations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from source_trees import SOURCES, modules, text_of, tree_of

PLACE = "{}"
"""Stands for a value in the text of an f-string."""
SIGNS = ("hint", "HINT", "failure")
WORDINGS = ("language.py", "gitlab.py", "protocol.py")
"""Modules that write hints of others."""


def hint_texts() -> dict[str, Path]:
    """Return every hint without values, and the pattern of those with values, to its module.

    A hint is what is called so: an argument, a variable, a constant, or what a function returns.
    Those that come from other tables or are put together are not among them.
    """
    found: dict[str, Path] = {}
    for path in modules(*SOURCES):
        if path.name in WORDINGS or not any(word in text_of(path) for word in SIGNS):
            continue
        constants = _constants(tree_of(path))
        for node in ast.walk(tree_of(path)):
            for expression in _hints(node):
                found |= dict.fromkeys(filter(_is_whole, _texts(expression, constants)), path)
    return found


def _is_whole(text: str) -> bool:
    """Whether a text is a hint, and not a part of one or a name."""
    return text == text.strip() and " " in text


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the names that a module gives to expressions."""
    return {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _hints(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that are hints by the name of what they are given to."""
    match node:
        case ast.Call(func=function, args=arguments, keywords=keywords):
            yield from (keyword.value for keyword in keywords if keyword.arg == "hint")
            if isinstance(function, ast.Name) and function.id == "failure":
                yield from arguments[2:]
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if name == "hint" or "HINT" in name:
                yield from value.values if isinstance(value, ast.Dict) else [value]
        case ast.FunctionDef(name=name, body=body) if name.endswith("_hint"):
            for inner in ast.walk(ast.Module(body, [])):
                if isinstance(inner, ast.Return) and inner.value:
                    yield inner.value


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
