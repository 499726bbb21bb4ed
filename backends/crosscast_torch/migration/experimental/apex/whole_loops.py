"""Whether the loops of a program with apex move: what goes with a loop moves or stays with it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from crosscast_migrate.codemod import Change, Refusal
from crosscast_torch.migration.experimental.apex import amp_loop, wrapped_loop
from crosscast_torch.migration.experimental.apex.moved_names import (
    Name,
    local_imports,
    remove_names,
)

if TYPE_CHECKING:
    from crosscast_reading.edits.layout import Draft
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.sources.subject import Subject

State = Literal["none", "moves", "stays"]


def state_of(subject: Subject) -> State:
    """Return `moves` if a loop with apex is about to be migrated, `stays` if it cannot be.

    Optimizers and data parallelism of apex wait for a loop that moves: they are migrated in the
    next round.
    """
    found = [*amp_loop.of_loops(subject), *wrapped_loop.outcomes(subject)]
    if any(isinstance(outcome, Refusal) for outcome in found):
        return "stays"
    return "moves" if found else "none"


def with_its_loop(what: str, module: Module, node: ast.AST) -> Refusal:
    """Return the refusal of a part of a loop that stays."""
    return Refusal(
        span=module.span(node),
        message=f"{what} stays, because the loop of this program with apex cannot be migrated yet",
        hint="first decide about the loop: old and new parts are not mixed",
    )


def moved(draft: Draft, names: list[Name], summary: list[str], notes: list[str]) -> Change:
    """Return the change of names that a draft replaces, with their imports."""
    remove_names(draft, names)
    draft.remove(*local_imports(draft.module, names))
    return Change(
        span=draft.module.span(names[0].uses[0]),
        message=", ".join(summary),
        edits=tuple(draft.finish()),
        note=" ".join(dict.fromkeys(notes)),
    )
