"""What becomes of a module: one change and the refusals."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from crosscast_migrate.codemod import Change, Outcome, Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.text_edits import overlap
from crosscast_reading.pysource.programs.module import Module


@dataclass(slots=True)
class Outcomes:
    """Edits and refusals of one module; the edits are applied together or not at all."""

    edits: list[Edit] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, module: Module, node: ast.AST, message: str, hint: str) -> None:
        """Add a refusal."""
        self.refusals.append(Refusal(span=module.span(node), message=message, hint=hint))


def outcomes_of(module: Module, out: Outcomes, message: str) -> Iterator[Outcome]:
    """Yield the refusals of a module, and its edits as one change with a message."""
    yield from dict.fromkeys(out.refusals)
    if out.edits:
        edit = min(out.edits, key=lambda edit: (edit.line, edit.column))
        yield Change(
            span=module.span(ast.Pass(lineno=edit.line, col_offset=edit.column - 1)),
            message=message,
            edits=_apart(out.edits),
            note="; ".join(dict.fromkeys(out.notes)),
        )


def _apart(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return the edits without those that overlap an earlier one: they come in the next round."""
    kept: list[Edit] = []
    for edit in dict.fromkeys(edits):
        if not any(overlap(edit, other) for other in kept):
            kept.append(edit)
    return tuple(kept)
