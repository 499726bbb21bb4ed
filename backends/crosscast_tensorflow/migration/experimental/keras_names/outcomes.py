"""What becomes of a module: one change and the refusals."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from crosscast_migrate.codemod import Change, Outcome
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.text_edits import overlap
from crosscast_reading.pysource.programs.module import Module
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes


def outcomes_of(module: Module, found: Outcomes, message: str) -> Iterator[Outcome]:
    """Yield the refusals of a module, and its edits as one change with a message."""
    yield from dict.fromkeys(found.refusals)
    if found.edits:
        edit = min(found.edits, key=lambda edit: (edit.line, edit.column))
        yield Change(
            span=module.span(ast.Pass(lineno=edit.line, col_offset=edit.column - 1)),
            message=message,
            edits=_apart(found.edits),
            note="; ".join(dict.fromkeys(found.notes)),
        )


def _apart(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits without those that overlap an earlier one: they come in the next round."""
    kept: list[Edit] = []
    for edit in dict.fromkeys(edits):
        if not any(overlap(edit, other) for other in kept):
            kept.append(edit)
    return tuple(kept)
