"""Names of Keras that the present Keras does not have and that no other table knows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.program import imported_as, own_choice
from crosscast_tensorflow.migration.experimental.keras_names import present
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.table import GONE, MOVED, PACKAGES

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_GONE = {row.old: row.hint for row in GONE}
_TABLES = {row.old for row in MOVED} | set(_GONE) | set(PACKAGES)
_HINTS = {
    "backend": "write it with keras.ops, or with functions of TensorFlow",
    "engine": "the parts of keras.engine are in keras and keras.layers: Layer, InputSpec, Model",
    "legacy": "remove it: Keras 3 has no wrappers for the arguments of Keras 1",
    "wrappers": "use the package scikeras, or keras.wrappers.SKLearnClassifier",
}
_ELSEWHERE = "import it from tensorflow.keras, which still has it"
_HINT = "write what you need of it, or take the name of Keras 3"


def unknown_names(module: Module, out: Outcomes) -> None:
    """Refuse the imports and uses of names that are not in Keras 3, each where it comes first."""
    if "keras" not in module.source.text:
        return
    seen: set[str] = set()
    for node in module.nodes:
        if module.is_dead(node):
            continue
        for place, name in _names(node, module):
            lost = _lost(name, whole=not isinstance(node, ast.Attribute))
            if lost and lost not in seen and not own_choice(module, node, "keras"):
                seen.add(lost)
                home, _, part = lost.rpartition(".")
                hint = _GONE.get(lost) or _HINTS.get(lost.split(".")[1], _HINT)
                hint = _ELSEWHERE if part in (present.public(home) or ()) else hint
                out.refuse(module, place, f"{lost} is not in Keras 3", hint)


def _names(node: ast.AST, module: Module) -> list[tuple[ast.AST, str]]:
    """Return the names of a library that a node imports or uses, with their places."""
    match node:
        case ast.ImportFrom(module=str(source), level=0):
            return [(alias, f"{source}.{alias.name}") for alias in node.names if alias.name != "*"]
        case ast.Import():
            return [(alias, alias.name) for alias in node.names]
        case ast.Attribute(ctx=ast.Load()) if not isinstance(module.parent(node), ast.Attribute):
            chain = imported_as(node, module)
            return [(node, ".".join([chain[0], *chain[1]]))] if chain is not None else []
    return []


def _lost(name: str, *, whole: bool) -> str:
    """Return the first part of a name that is not in Keras 3, with what it is in.

    Empty if there is none, or if another rule sees to it: to a name that is imported as a `whole`,
    and to any part of one that is used.
    """
    short = canonical(name)
    if not name.startswith(("keras.", "tensorflow.")) or not short.startswith("keras."):
        return ""
    parts = short.split(".")
    prefixes = [".".join(parts[:length]) for length in range(2, len(parts) + 1)]
    seen_to = prefixes[-1:] if whole else prefixes
    if _TABLES & set(seen_to) or (whole and ".".join(parts[:-1]) in PACKAGES):
        return ""
    home = parts[0]
    for part in parts[1:]:
        known = present.public(home)
        if known is None or part.startswith("_"):
            return ""
        absent = name.startswith("keras.") and part in present.of_tensorflow(home)
        if part not in known or absent:
            return f"{home}.{part}"
        home = f"{home}.{part}"
    return ""
