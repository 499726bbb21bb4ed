"""Docstrings of the recipe fields, read from the source code on demand.

pydantic can do this at class creation, but that would slow down every start of the command.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise


def field_docs(cls: type) -> dict[str, str]:
    """Return the docstring of each field of a class and its base classes."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("crosscast"):
            docs |= _docs(base.__module__).get(base.__name__, {})
    return docs


@cache
def _docs(module: str) -> dict[str, dict[str, str]]:
    """Return docstrings by class and field for one module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: dict(_fields(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _fields(node: ast.ClassDef) -> list[tuple[str, str]]:
    return [
        (field.target.id, inspect.cleandoc(text.value.value))
        for field, text in pairwise(node.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    ]
