"""Edits at nodes of Python sources."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.edits.edit import Edit

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


def column_at(module: Module, line: int, offset: int) -> int:
    """Return the column, from 1, of an offset of `ast` (bytes of UTF-8) in a line."""
    row = module.lines[line - 1]
    if row.isascii():
        return offset + 1
    return len(row.encode("utf-8", "replace")[:offset].decode("utf-8", "replace")) + 1


def replace_node(module: Module, node: ast.expr | ast.stmt, text: str) -> Edit:
    """Return the edit that replaces a node with a text."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return Edit(
        file=module.source.name,
        line=node.lineno,
        column=column_at(module, node.lineno, node.col_offset),
        end_line=node.end_lineno,
        end_column=column_at(module, node.end_lineno, node.end_col_offset),
        text=text,
    )


def insert(module: Module, line: int, column: int, text: str) -> Edit:
    """Return the edit that inserts a text before a column (from 1)."""
    return Edit(
        file=module.source.name,
        line=line,
        column=column,
        end_line=line,
        end_column=column,
        text=text,
    )


def insert_before(module: Module, node: ast.expr | ast.stmt, text: str) -> Edit:
    """Return the edit that inserts a text before a node."""
    return insert(module, node.lineno, column_at(module, node.lineno, node.col_offset), text)


def opening(module: Module, call: ast.Call) -> tuple[int, int] | None:
    """Return line and column after the parenthesis that opens the arguments of a call.

    None if there is other text between the called expression and the parenthesis.
    """
    function = call.func
    assert function.end_lineno is not None
    assert function.end_col_offset is not None
    column = column_at(module, function.end_lineno, function.end_col_offset)
    row = module.lines[function.end_lineno - 1]
    return (function.end_lineno, column + 1) if row[column - 1 : column] == "(" else None
