"""Imports from `tensorflow.python.keras`, an old copy of Keras 2 that no Keras 3 works with."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_tensorflow.migration.experimental.keras.program import own_choice
from crosscast_tensorflow.migration.experimental.keras_names import present
from crosscast_tensorflow.migration.experimental.keras_names.names import moved_name
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_OLD = "tensorflow.python.keras"


def private_imports(module: Module, out: Outcomes) -> None:
    """Import the same names from `tensorflow.keras`; refuse those that are only private."""
    if _OLD not in module.source.text:
        return
    for node in module.nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom) or module.is_dead(node):
            continue
        source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, ast.ImportFrom) and (
            node.level or not f"{source}.".startswith(f"{_OLD}.")
        ):
            continue
        if isinstance(node, ast.Import) and not any(
            f"{alias.name}.".startswith(f"{_OLD}.") for alias in node.names
        ):
            continue
        if own_choice(module, node, "keras"):
            continue
        texts = [_import(alias, source) for alias in node.names]
        if not all(texts):
            out.refuse(
                module,
                node,
                f"{_OLD} is a private copy of Keras 2, whose objects do not work with Keras 3",
                "import what you need from tensorflow.keras",
            )
            continue
        out.edits.append(replace_node(module, node, _joined(texts, node.col_offset)))


def _import(alias: ast.alias, source: str) -> str:
    """Return the import of one name from the public Keras; empty if there is none."""
    name = f"{source}.{alias.name}" if source else alias.name
    local = alias.asname or (alias.name if source else "")
    short = f"keras{name.removeprefix(_OLD)}"
    short = moved_name(f"tensorflow.{short}") or short
    home, _, last = short.rpartition(".")
    if not local or last not in (present.public(home) or ()):
        return ""
    return f"from tensorflow.{home} import {last}" + (f" as {local}" if local != last else "")


def _joined(texts: list[str], indent: int) -> str:
    """Return imports from the same module as one statement."""
    homes = {text.partition(" import ")[0] for text in texts}
    if len(homes) > 1:
        return f"\n{' ' * indent}".join(texts)
    return f"{homes.pop()} import {', '.join(text.partition(' import ')[2] for text in texts)}"
