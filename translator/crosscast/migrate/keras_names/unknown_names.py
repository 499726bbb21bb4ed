"""Names of Keras that Keras 3 does not have and that no other table knows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.migrate.keras.policies import Outcomes
from crosscast.migrate.keras.program import imported_as, own_choice
from crosscast.migrate.keras_names.public_names import OF_TENSORFLOW, OPEN, PUBLIC
from crosscast.migrate.keras_names.table import GONE, MOVED, PACKAGES
from crosscast.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module

_TABLES = {row.old for row in MOVED} | {row.old for row in GONE} | set(PACKAGES)
_HINTS = {
    "engine": "the parts of keras.engine are in keras and keras.layers: Layer, InputSpec, Model",
    "legacy": "remove it: Keras 3 has no wrappers for the arguments of Keras 1",
    "wrappers": "use the package scikeras, or keras.wrappers.SKLearnClassifier",
}
_HINT = "write what you need of it, or take the name of Keras 3"


def unknown_names(module: Module, out: Outcomes) -> None:
    """Refuse the imports and uses of names that are not in Keras 3."""
    if "keras" not in module.source.text:
        return
    seen: set[str] = set()
    for node in module.nodes:
        if module.is_dead(node):
            continue
        for place, name in _names(node, module):
            lost = _lost(name)
            if lost and lost not in seen and not own_choice(module, node, "keras"):
                seen.add(lost)
                hint = _HINTS.get(lost.split(".")[1], _HINT)
                out.refuse(module, place, f"{lost} is not in Keras 3", hint)


def _names(node: ast.AST, module: Module) -> list[tuple[ast.AST, str]]:
    """Return the names of a library that a node imports or uses, with their places."""
    match node:
        case ast.ImportFrom(module=str(source), level=0):
            return [(alias, f"{source}.{alias.name}") for alias in node.names if alias.name != "*"]
        case ast.Import():
            return [(alias, alias.name) for alias in node.names]
        case ast.Attribute(ctx=ast.Load()) if not isinstance(module.parent(node), ast.Attribute):
            found = imported_as(node, module)
            return [(node, ".".join([found[0], *found[1]]))] if found is not None else []
    return []


def _lost(name: str) -> str:
    """Return the first part of a name that is not in Keras 3, with what it is in; else empty."""
    short = canonical(name)
    if not short.startswith("keras.") or name.startswith("tf_keras."):
        return ""
    parts = short.split(".")
    home = parts[0]
    for part in parts[1:]:
        here = f"{home}.{part}"
        known = PUBLIC.get(home)
        if known is None or part.startswith("_") or _in_tables(here):
            return ""
        if home == "keras" and part in OPEN:
            return ""
        absent = name.startswith("keras.") and part in OF_TENSORFLOW.get(home, ())
        if part not in known or absent:
            return here
        home = here
    return ""


def _in_tables(name: str) -> bool:
    """Whether another table knows a name or something in it."""
    return any(row == name or row.startswith(f"{name}.") for row in _TABLES)
