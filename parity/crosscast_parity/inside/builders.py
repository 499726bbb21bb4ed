"""Calls what makes models, for a script that makes none itself."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crosscast_parity.inside.build import Build


def call_builders(build: Build, space: dict[str, Any], text: bytes, base: type) -> None:
    """Call what makes models and needs no argument, for a file of which nothing does.

    Args:
        build: what is watched.
        space: the names of the executed file.
        text: the file.
        base: the class that all models derive from.
    """
    for node in ast.parse(text).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        made = space.get(node.name)
        if isinstance(made, type):
            if not issubclass(made, base):
                continue
        elif not isinstance(node, ast.FunctionDef) or not any(_makes(node, space, base)):
            continue
        place = (Path(sys.argv[0]).name, node.lineno)
        if callable(made) and _needs_nothing(made):
            build.attempt(place, made)
        else:
            build.write("skipped", place, words=f"{node.name} needs arguments")


def _makes(node: ast.FunctionDef, space: dict[str, Any], base: type) -> Any:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            names = ast.unparse(each.func).split(".")
            owner: Any = space.get(names[0])
            for name in names[1:]:
                owner = getattr(owner, name, None)
            yield isinstance(owner, type) and issubclass(owner, base)


def _needs_nothing(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True
