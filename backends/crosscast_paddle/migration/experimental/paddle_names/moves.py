"""Replacement of the old names of one module."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from crosscast_migrate.written_code import with_needed
from crosscast_paddle.migration.experimental.paddle_fluid import CannotError, is_bound
from crosscast_paddle.migration.experimental.paddle_names.arguments import argument_edits
from crosscast_paddle.migration.experimental.paddle_names.helpers import all_helpers
from crosscast_paddle.migration.experimental.paddle_names.imports import import_edits
from crosscast_paddle.migration.experimental.paddle_names.methods import (
    PARALLEL,
    RATE,
    SCALARS,
    STATES,
    reads_first_elements,
    reads_rates,
    renamed_methods,
    sets_unknown_states,
    without_data_parallel,
)
from crosscast_paddle.migration.experimental.paddle_names.row import Mode, NameRow
from crosscast_paddle.migration.experimental.paddle_names.table import rows_for
from crosscast_paddle.migration.experimental.paddle_names.uses import Use, uses_of
from crosscast_paddle.migration.experimental.paddle_names.whole_numbers import divided_whole_numbers
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import insert_before, replace_node
from crosscast_reading.pysource.programs.module import Module


@dataclass(slots=True)
class Moves:
    """What becomes of the old names of one module."""

    edits: list[Edit] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    """Old to new name, of everything that changes."""
    notes: dict[str, None] = field(default_factory=dict)
    left: list[tuple[ast.expr, str, str]] = field(default_factory=list)
    """Place, name and reason of what has no counterpart: it stays as `paddle.fluid.x`."""
    first: ast.AST | None = None
    """The first use or import."""


def moves_of(module: Module, mode: Mode) -> Moves:
    """Return the edits of one module.

    Raises:
        CannotError: nothing in the module can be changed with certainty.
    """
    found = Moves()
    helpers: dict[str, None] = {}
    uses = list(uses_of(module, rows_for(mode)))
    for use in uses:
        row = use.row
        try:
            row = _row_of(module, use)
            edits, new = _moved(module, use, row)
        except CannotError as error:
            found.left.append((use.node, use.name, error.reason))
            edits, new = [], use.name
        if row is not None and row.helper and new == row.helper:
            helpers[row.helper] = None
        helpers |= dict.fromkeys(name for name in all_helpers() if _calls(edits, name))
        edits, front = _split_front(module, use.node, edits)
        if module.text(use.node) != new or front:
            edits = [*edits, replace_node(module, use.node, front + new)]
        if new != use.name:
            found.moved[use.name] = new
            if row is not None and row.note:
                found.notes[row.note] = None
        found.edits += edits
    found.edits += renamed_methods(module)
    if taken := list(without_data_parallel(module)):
        found.edits += taken
        found.notes[PARALLEL] = None
    if sets_unknown_states(module):
        found.notes[STATES] = None
    if reads_rates(module):
        found.notes[RATE] = None
    if any(use.name.startswith("paddle.fluid.") for use in uses):
        found.notes |= dict.fromkeys(divided_whole_numbers(module))
    if mode == "dynamic" and reads_first_elements(module):
        found.notes[SCALARS] = None
    texts = [helper.text for helper in with_needed(helpers, all_helpers())]
    for name in helpers:
        if is_bound(module, name):
            raise CannotError(module.tree.body[0], f"{name} is another object of the program")
    found.edits = _without_nested(found.edits) + import_edits(module, mode, texts)
    found.first = min(
        (use.node for use in uses), key=lambda node: (node.lineno, node.col_offset), default=None
    )
    return found


def _row_of(module: Module, use: Use) -> NameRow:
    """Return the row that a use is moved by."""
    row = use.row
    if row is None:
        raise CannotError(use.node, "")
    return row.variant(module, use.call) if row.variant else row


def _calls(edits: Sequence[Edit], name: str) -> bool:
    """Whether the inserted texts call a function."""
    return any(f"{name}(" in edit.text for edit in edits)


def _split_front(module: Module, node: ast.expr, edits: Sequence[Edit]) -> tuple[list[Edit], str]:
    """Return edits without the insertions before a node, and what these insert."""
    place = insert_before(module, node, "")
    front = [edit for edit in edits if replace(edit, text="") == place]
    return [edit for edit in edits if edit not in front], "".join(edit.text for edit in front)


def _moved(module: Module, use: Use, row: NameRow) -> tuple[list[Edit], str]:
    """Return the edits of the arguments of a use, and its new name."""
    if row.refused:
        raise CannotError(use.node, row.refused)
    try:
        if not row.new:
            rewritten = row.rewrite(module, use.call) if row.rewrite and use.call else []
            return rewritten, row.helper
        if use.call is not None:
            return argument_edits(module, use.call, row), row.new
        if row.changes_arguments:
            raise CannotError(use.node, "it is used as a value, and its arguments changed")
    except CannotError:
        if row.helper and row.new:  # the function takes what the new name cannot
            return [], row.helper
        raise
    return [], row.new


def _without_nested(edits: Sequence[Edit]) -> list[Edit]:
    """Return edits without those inside of text that another one removes."""
    removed = [edit for edit in edits if not edit.text]
    return list(_outside(edits, removed))


def _outside(edits: Sequence[Edit], removed: Sequence[Edit]) -> Iterator[Edit]:
    for edit in edits:
        start, end = (edit.line, edit.column), (edit.end_line, edit.end_column)
        if not any(
            other is not edit
            and (other.line, other.column) <= start
            and end <= (other.end_line, other.end_column)
            and (start, end) != ((other.end_line, other.end_column),) * 2
            for other in removed
        ):
            yield edit
