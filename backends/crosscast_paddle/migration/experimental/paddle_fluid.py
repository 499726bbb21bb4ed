"""Shared code of the codemods for `paddle.fluid`: imports and replacement of old names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from crosscast.messages.diagnostics import Span
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert
from crosscast_reading.lint.outdated_apis import within_try
from crosscast_reading.pysource.programs.module import Module

_FLUID = re.compile(r"paddle\.fluid(\..*)?")


class CannotError(Exception):
    """Why the names of a module cannot be replaced with certainty."""

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


def guarded(module: Module, names: Iterable[str]) -> bool:
    """Whether a module handles missing old names: their import is in a `try`."""
    places = tuple(names)
    for statement in module.nodes:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        whole = [_whole(statement, alias) for alias in statement.names]
        if any(name.startswith(places) for name in whole) and _in_try(module, statement):
            return True
    return False


def _in_try(module: Module, node: ast.AST) -> bool:
    return within_try(module, node) or module.enclosing(node, ast.ExceptHandler) is not None


def unused_fluid_imports(module: Module, done: re.Pattern[str]) -> Iterator[tuple[str, Span]]:
    """Yield unused imports of paddle.fluid."""
    for statement in module.nodes:
        if not isinstance(statement, ast.Import | ast.ImportFrom) or module.is_dead(statement):
            continue
        for alias in statement.names:
            name = _whole(statement, alias)
            if not _FLUID.fullmatch(name) or done.match(name) or _in_try(module, statement):
                continue
            local = alias.asname or alias.name.partition(".")[0]
            if not any(node.id == local for node in module.every(ast.Name)):
                yield name, module.span(statement)


def _whole(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    if isinstance(statement, ast.Import):
        return alias.name
    return f"{statement.module or ''}.{alias.name}" if not statement.level else ""


def is_bound(module: Module, name: str, *, imports: bool = True) -> bool:
    """Whether a module binds or reads a name.

    Args:
        module: the module to search.
        name: without dots.
        imports: whether imports and reads count.
    """
    for node in module.nodes:
        if isinstance(node, ast.Name):
            found = node.id == name and (imports or isinstance(node.ctx, ast.Store))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found = node.name == name
        elif isinstance(node, ast.arg):
            found = node.arg == name
        else:
            found = imports and isinstance(node, ast.alias) and (node.asname or node.name) == name
        if found:
            return True
    return False


def _alone(module: Module, statement: ast.stmt) -> bool:
    """Whether a statement shares its lines with nothing, not even a comment."""
    last = statement.end_lineno or statement.lineno
    rows = module.lines[statement.lineno - 1 : last]
    whole = " ".join(" ".join(rows).split())
    return last < len(module.lines) and whole == module.text(statement) and "#" not in whole


def drop_lines(module: Module, statement: ast.stmt) -> Edit:
    """Return the edit that removes a statement with its lines."""
    if not _alone(module, statement):
        raise CannotError(statement, "it shares its lines with other code")
    return Edit(
        file=module.source.name,
        line=statement.lineno,
        column=1,
        end_line=(statement.end_lineno or statement.lineno) + 1,
        end_column=1,
        text="",
    )


def more_arguments(module: Module, node: ast.Call, text: str) -> Edit:
    """Return the edit that appends keyword arguments to a call."""
    if node.keywords:
        last = node.keywords[-1]
        assert last.end_lineno is not None
        assert last.end_col_offset is not None
        column = column_at(module, last.end_lineno, last.end_col_offset)
        return insert(module, last.end_lineno, column, f", {text}")
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    column = column_at(module, node.end_lineno, node.end_col_offset) - 1
    if node.args and (node.lineno != node.end_lineno):
        raise CannotError(node, "its positional arguments span several lines")
    before = module.lines[node.end_lineno - 1][: column - 1].rstrip()
    comma = "" if not node.args or before.endswith(",") else ", "
    return insert(module, node.end_lineno, column, f"{comma}{text}")
