"""Imports of a module after its names of `paddle.fluid` were replaced."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError, drop_lines, is_bound
from crosscast_paddle.migration.experimental.paddle_names.row import Mode
from crosscast_paddle.migration.experimental.paddle_names.table import rows_for
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import insert, insert_before, replace_node
from crosscast_reading.pysource.programs.module import Module

Import = ast.Import | ast.ImportFrom

FLAG_NAME = "FLAGS_enable_pir_api"
FLAG = (
    'os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names\n'
)
STATIC = "paddle.enable_static()"


def import_edits(module: Module, mode: Mode, helpers: Sequence[str]) -> list[Edit]:
    """Return the edits of the imports: fluid goes, paddle comes, helpers follow.

    Args:
        module: a module with imports of `paddle.fluid`.
        mode: of the program; a static one selects the graphs of fluid before paddle is imported.
        helpers: texts of functions to insert.

    Raises:
        CannotError: the name paddle is taken, or an import shares its line with other code.
    """
    every = [node for node in module.nodes if isinstance(node, Import) and not module.is_dead(node)]
    fluid = [node for node in every if any(_goes(node, alias, mode) for alias in node.names)]
    if is_bound(module, "paddle", imports=False):
        raise CannotError(fluid[0] if fluid else module.tree.body[0], "paddle is another object")
    for node in fluid:
        if any(alias.name == "*" for alias in node.names):
            raise CannotError(node, "a star import hides which names are used")
    has_paddle = any(_binds_paddle(module, node) for node in every if node not in fluid)
    top = [node for node in module.tree.body if isinstance(node, Import)]
    first = next(
        (n for n in top if n in fluid or is_paddle(n)),
        next((n for n in top if getattr(n, "module", "") != "__future__"), module.tree.body[0]),
    )
    edits: list[Edit] = []
    head = (
        _head(module, top, first)
        if mode == "static" and FLAG_NAME not in module.source.text and _has_fluid(module)
        else ""
    )
    enabled = "" if STATIC in module.source.text or not head else STATIC
    placed = False
    for node in fluid:
        rest = _without_fluid(node, mode)
        if node is first:
            bind = "" if _binds_after(rest) else "import paddle\n"
            tail = f"\n{enabled}" if enabled else ""
            edits.append(replace_node(module, node, f"{head}{bind}{rest}".rstrip("\n") + tail))
            placed = True
        elif rest:
            edits.append(replace_node(module, node, rest))
        else:
            edits.append(_removed(module, node))
    if not placed:
        missing = not has_paddle and first not in fluid
        front = head + ("import paddle\n" if missing else "")
        if front and is_paddle(first) and isinstance(first, ast.stmt):
            edits.append(insert_before(module, first, front))
            if enabled:
                edits.append(_after(module, first, f"\n{enabled}"))
        elif front:
            tail = f"{enabled}\n" if enabled else ""
            edits.append(insert_before(module, first, f"{front}{tail}"))
    if helpers:
        edits = _with_helpers(module, edits, _last_import(module, first), "\n\n".join(helpers))
    return _merged(edits)


def _with_helpers(module: Module, edits: list[Edit], last: ast.stmt, text: str) -> list[Edit]:
    """Return edits that also insert functions after an import, which may be removed itself."""
    for place, edit in enumerate(edits):
        if (edit.line, edit.column, edit.end_line) == (last.lineno, 1, (last.end_lineno or 0) + 1):
            edits[place] = replace(edit, text=f"\n\n{text}")
            return edits
    return [*edits, _after(module, last, f"\n\n\n{text}")]


def _head(module: Module, top: Sequence[Import], first: ast.stmt) -> str:
    known = any(
        isinstance(node, ast.Import)
        and node.lineno < first.lineno
        and any(alias.name == "os" and alias.asname is None for alias in node.names)
        for node in top
    )
    return ("" if known else "import os\n") + FLAG


def flag_lines(module: Module, first: ast.stmt) -> str:
    """Return the lines that select the graphs of fluid before an import of paddle."""
    top = [node for node in module.tree.body if isinstance(node, Import)]
    return _head(module, top, first)


def has_moved_imports(module: Module, mode: Mode) -> bool:
    """Whether a module imports names outside of fluid that Paddle 3 has no more."""
    return any(
        isinstance(node, ast.ImportFrom)
        and not module.is_dead(node)
        and any(_goes(node, alias, mode) and not _is_fluid(node, alias) for alias in node.names)
        for node in module.nodes
    )


def _has_fluid(module: Module) -> bool:
    return "paddle.fluid" in module.source.text or "import fluid" in module.source.text


def _goes(node: Import, alias: ast.alias, mode: Mode) -> bool:
    """Whether an imported name has another one in Paddle 3."""
    if _is_fluid(node, alias):
        return True
    if not isinstance(node, ast.ImportFrom) or node.level:
        return False
    return f"{node.module}.{alias.name}" in rows_for(mode)


def is_of_fluid(node: Import) -> bool:
    """Whether an import names something of paddle.fluid."""
    return any(_is_fluid(node, alias) for alias in node.names)


def _is_fluid(node: Import, alias: ast.alias) -> bool:
    if isinstance(node, ast.Import):
        return f"{alias.name}.".startswith("paddle.fluid.")
    whole = f"{node.module or ''}.{alias.name}."
    return not node.level and whole.startswith("paddle.fluid.")


def is_paddle(node: ast.stmt) -> bool:
    """Whether a statement imports paddle or from it."""
    if isinstance(node, ast.Import):
        return any(f"{alias.name}.".startswith("paddle.") for alias in node.names)
    return isinstance(node, ast.ImportFrom) and f"{node.module or ''}.".startswith("paddle.")


def _binds_paddle(module: Module, node: Import) -> bool:
    return (
        node in module.tree.body
        and isinstance(node, ast.Import)
        and any(
            alias.asname is None and alias.name.partition(".")[0] == "paddle"
            for alias in node.names
        )
    )


def _binds_after(rest: str) -> bool:
    return any(
        part.strip().partition(".")[0] == "paddle" and " as " not in part
        for part in rest.removeprefix("import ").split(",")
    )


def _without_fluid(node: Import, mode: Mode) -> str:
    """Return an import without its names of fluid; empty if nothing is left."""
    kept = [alias for alias in node.names if not _goes(node, alias, mode)]
    if not kept:
        return ""
    names = ", ".join(f"{a.name} as {a.asname}" if a.asname else a.name for a in kept)
    if isinstance(node, ast.Import):
        return f"import {names}"
    return f"from {node.module} import {names}"


def _removed(module: Module, node: Import) -> Edit:
    block = getattr(module.parent(node), "body", [])
    if len(block) == 1 and module.parent(node) is not module.tree:
        return replace_node(module, node, "pass")
    try:
        return drop_lines(module, node)
    except CannotError:
        return replace_node(module, node, "import paddle")


def _after(module: Module, node: ast.stmt, text: str) -> Edit:
    line = node.end_lineno or node.lineno
    return insert(module, line, len(module.lines[line - 1]) + 1, text)


def _last_import(module: Module, first: ast.stmt) -> ast.stmt:
    """Return the last import before the first statement that may use a helper."""
    last = first
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For):
            break
        if isinstance(node, Import) and node.lineno >= first.lineno:
            last = node
        elif node.lineno > first.lineno and "fluid" in module.text(node):
            break
    return last


def _merged(edits: Sequence[Edit]) -> list[Edit]:
    """Return edits of which none touches another at the same place."""
    found: list[Edit] = []
    for edit in edits:
        for place, other in enumerate(found):
            here = (edit.line, edit.column)
            if here == (edit.end_line, edit.end_column) == (other.end_line, other.end_column):
                found[place] = replace(other, text=other.text + edit.text)
                break
        else:
            found.append(edit)
    return found
