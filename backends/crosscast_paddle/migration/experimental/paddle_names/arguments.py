"""Edits of the arguments of a call, as a row of the table says."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError, more_arguments
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import column_at, insert, insert_before, replace_node
from crosscast_reading.pysource.programs.module import Module

Place = tuple[int, int]


def argument_edits(module: Module, call: ast.Call, row: NameRow) -> list[Edit]:
    """Return the edits of the arguments of a call.

    Raises:
        CannotError: an argument has no counterpart, or the arguments are not visible.
    """
    if not row.changes_arguments:
        return []
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if starred or any(keyword.arg is None for keyword in call.keywords):
        raise CannotError(call, "its arguments are not visible")
    order = row.order.split()
    if len(call.args) > len(order) and order:
        raise CannotError(call, "it has more arguments than any release takes")
    edits = [*_renamed(module, call, row), *_replaced(module, call, row)]
    gone = set(_gone(module, call, row))
    if not gone and row.new_order:
        edits += _placed(module, call, row)
    elif gone:
        edits += _placed(module, call, row, gone)
        edits += list(_removals(module, call, gone))
    given = {*order[: len(call.args)], *(keyword.arg for keyword in call.keywords)}
    left = {
        row.renamed.get(name, name): text
        for name, text in row.written.items()
        if name not in given and row.renamed.get(name, name) not in given
    }
    if left:
        text = ", ".join(f"{name}={value}" for name, value in left.items())
        edits.append(_written(module, call, text, gone))
    if row.rewrite is not None:
        edits += row.rewrite(module, call)
    return edits


def _renamed(module: Module, call: ast.Call, row: NameRow) -> list[Edit]:
    edits = []
    for keyword in call.keywords:
        new = row.renamed.get(keyword.arg or "", "")
        if new:
            column = column_at(module, keyword.lineno, keyword.col_offset)
            edits.append(
                Edit(
                    file=module.source.name,
                    line=keyword.lineno,
                    column=column,
                    end_line=keyword.lineno,
                    end_column=column + len(keyword.arg or ""),
                    text=new,
                )
            )
    return edits


def _replaced(module: Module, call: ast.Call, row: NameRow) -> Iterator[Edit]:
    """Yield the edits of values that have a new form."""
    order = row.order.split()
    named = [*zip(order, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]
    for name, value in named:
        known = row.values.get(name)
        if known is None:
            continue
        new = known.get(module.text(value).replace("'", '"'))
        if new is None:
            raise CannotError(value, f"{name}={module.text(value)} has no known counterpart")
        yield replace_node(module, value, new)


def _gone(module: Module, call: ast.Call, row: NameRow) -> Iterator[int]:
    """Yield the places of arguments to remove, counted over all arguments."""
    order = row.order.split()
    named = [*zip(order, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]
    for place, (name, value) in enumerate(named):
        allowed = row.dropped.get(name)
        if allowed is None:
            continue
        if "*" not in allowed and module.text(value) not in allowed:
            raise CannotError(value, f"{name}={module.text(value)} has no counterpart")
        yield place


def _placed(
    module: Module, call: ast.Call, row: NameRow, gone: set[int] | frozenset[int] = frozenset()
) -> list[Edit]:
    """Return the edits that name the positional arguments whose place changed."""
    old = row.order.split()
    new = (row.new_order or row.order).split()
    edits: list[Edit] = []
    moved = False
    for place, (name, argument) in enumerate(zip(old, call.args, strict=False)):
        moved = moved or place >= len(new) or new[place] != name or place in gone
        if moved and place not in gone:
            text = f"{row.renamed.get(name, name)}="
            edits.append(insert_before(module, argument, text))
    return edits


def _removals(module: Module, call: ast.Call, gone: set[int]) -> Iterator[Edit]:
    """Yield the edits that remove arguments with their commas."""
    places = [*map(_extent, call.args), *map(_extent, call.keywords)]
    for first, last in _runs(sorted(gone)):
        if last + 1 < len(places):
            start, end = places[first][0], places[last + 1][0]
        elif first:
            start, end = places[first - 1][1], places[last][1]
        else:
            assert call.end_lineno is not None
            assert call.end_col_offset is not None
            start, end = places[0][0], (call.end_lineno, call.end_col_offset - 1)
        begin = column_at(module, *start)
        finish = column_at(module, *end)
        rows = module.lines[start[0] - 1 : end[0]]
        if len(rows) > 1 and any("#" in row for row in rows[:-1]):
            raise CannotError(call, "an argument without a counterpart has a comment")
        yield Edit(
            file=module.source.name,
            line=start[0],
            column=begin,
            end_line=end[0],
            end_column=finish,
            text="",
        )


def _written(module: Module, call: ast.Call, text: str, gone: set[int]) -> Edit:
    """Return the edit that appends arguments, of which the last given ones may be removed."""
    if call.keywords and len(gone) < len(call.args) + len(call.keywords):
        return more_arguments(module, call, text)
    assert call.end_lineno is not None
    assert call.end_col_offset is not None
    column = column_at(module, call.end_lineno, call.end_col_offset) - 1
    before = module.lines[call.end_lineno - 1][: column - 1].rstrip()
    if "#" in before or (call.args and not before):
        raise CannotError(call, "its parenthesis is closed on a line of its own")
    first = len(gone) == len(call.args) + len(call.keywords) or before.endswith(",")
    return insert(module, call.end_lineno, column, text if first else f", {text}")


def _runs(places: list[int]) -> Iterator[tuple[int, int]]:
    first = last = places[0]
    for place in places[1:]:
        if place > last + 1:
            yield first, last
            first = place
        last = place
    yield first, last


def _extent(node: ast.expr | ast.keyword) -> tuple[Place, Place]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
