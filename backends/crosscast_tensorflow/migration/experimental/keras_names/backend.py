"""`keras.backend`: functions that only `tensorflow.keras.backend` has come from there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_tensorflow.migration.experimental.keras.program import (
    chain_of,
    imported_as,
    own_choice,
)
from crosscast_tensorflow.migration.experimental.keras_names import present
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_PLACE = "keras.backend"
_NOTE = "the functions of keras.backend are those of tensorflow.keras.backend, for TensorFlow alone"


def backend(module: Module, out: Outcomes) -> None:
    """Take `keras.backend` from TensorFlow where the module needs that."""
    if "backend" not in module.source.text:
        return
    old: set[str] = set()
    for node in module.every(ast.Attribute):
        source = imported_as(node, module)
        if source is None or module.is_dead(node) or own_choice(module, node, "keras"):
            continue
        home, (name, *_) = source[0], (*source[1], "")
        if home == _PLACE and name in present.of_tensorflow(_PLACE):
            old.add(chain_of(node)[0])
    for statement in module.nodes:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            _import(statement, old, module, out)


def _import(
    statement: ast.Import | ast.ImportFrom, old: set[str], module: Module, out: Outcomes
) -> None:
    """Import the backend from TensorFlow, where functions that only it has are used."""
    match statement:
        case ast.ImportFrom(module="keras", names=[ast.alias(name="backend") as alias], level=0):
            new = "from tensorflow.keras import backend"
        case ast.Import(names=[ast.alias(name="keras.backend", asname=str()) as alias]):
            new = "import tensorflow.keras.backend"
        case _:
            return
    if (alias.asname or alias.name) not in old:
        return
    end = f" as {alias.asname}" if alias.asname else ""
    out.edits.append(replace_node(module, statement, new + end))
    out.notes.append(_NOTE)
