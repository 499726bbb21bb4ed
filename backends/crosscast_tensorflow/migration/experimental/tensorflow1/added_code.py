"""Functions and classes that a migrated program needs, written into its modules."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_migrate.written_code import definitions
from crosscast_reading.edits.node_edits import insert

if TYPE_CHECKING:
    from crosscast_reading.edits.edit import Edit
    from crosscast_reading.pysource.programs.module import Module

ONES = "RMSpropFromOnes"
HARD = "old_hard_sigmoid"

TEXTS = {name: made.text for name, made in definitions("tensorflow/keras_additions.py").items()}
"""Name to definition, in the order of a module."""
_ORDER = tuple(TEXTS)
_NAME = "tf"


def additions(module: Module, names: Iterable[str]) -> list[Edit] | Refusal:
    """Return the edits that define functions and classes in a module, after its imports.

    A name that the module already defines is not defined again.
    """
    wanted = [name for name in _ORDER if name in set(names) and not _defines(module, name)]
    if not wanted:
        return []
    alias = _tensorflow(module)
    bound = {name for scope in module.scopes.values() for name in scope.bindings}
    taken = next((name for name in wanted if name in bound), "")
    if not alias and _NAME in module.scope.bindings:
        taken = _NAME
    if taken:
        return Refusal(
            span=module.span(module.tree.body[0]),
            message=f"the module uses the name {taken} for something else",
            hint=f"rename it; the migrated program defines {', '.join(wanted)} here",
        )
    text = "\n\n".join(TEXTS[name].replace("tf.", f"{alias or _NAME}.") for name in wanted)
    if not alias:
        text = f"import tensorflow as {_NAME}\n\n\n{text}"
    last = _last_import(module)
    row = last.end_lineno or last.lineno if last is not None else 0
    following = module.lines[row].strip() if row < len(module.lines) else ""
    before = "" if last is None else ("\n\n" if alias else "")
    return [insert(module, row + 1, 1, f"{before}{text}{chr(10) * 2 if following else ''}")]


def _defines(module: Module, name: str) -> bool:
    return any(
        isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name == name
        for statement in module.tree.body
    )


def _tensorflow(module: Module) -> str:
    """Return the name of TensorFlow in a module; empty if it is not imported at its beginning."""
    for statement in module.tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "tensorflow":
                    return alias.asname or alias.name
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            break
    return ""


def _last_import(module: Module) -> ast.stmt | None:
    """Return the last import before the first definition, or the docstring."""
    found: ast.stmt | None = None
    for number, statement in enumerate(module.tree.body):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            break
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if isinstance(statement, ast.Import | ast.ImportFrom) or (number == 0 and text):
            found = statement
    return found
