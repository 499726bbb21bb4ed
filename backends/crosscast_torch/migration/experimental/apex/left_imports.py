"""What is left of apex in a program without its loops: unused imports, and numbers of tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Change, Outcome, Refusal
from crosscast_migrate.conditions import as_atom
from crosscast_reading.edits.layout import Draft, is_alone
from crosscast_torch.migration.experimental.apex.imports import (
    is_of_fp16_utils,
    remove_aliases,
    unused,
    value_hint,
    value_of_amp,
)
from crosscast_torch.migration.experimental.apex.uses import Stops

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.sources.subject import Subject


def beside_loops(subject: Subject) -> Iterator[Outcome]:
    """Yield the changes of what is left; imports that cannot go with certainty are named."""
    for module in subject.program.modules:
        if change := _floats(module):
            yield change
            continue
        if used := value_of_amp(module):
            yield Refusal(
                span=module.span(used),
                message="apex.amp is used here as a value, without a loop of apex",
                hint=value_hint(module, used),
            )
        stem = PurePath(module.source.name).stem
        may_be_taken = any(f"{stem} import" in source.text for source in subject.beside)
        draft, idle, removed = Draft(module), unused(module), []
        for statement in idle:
            around = module.parent(statement)
            whole = not isinstance(around, ast.Try) or all(part in idle for part in around.body)
            if whole and is_alone(module, statement) and not may_be_taken:
                remove_aliases(draft, statement, statement.names, Stops())
                removed.append(statement)
                continue
            yield Refusal(
                span=module.span(statement),
                message="this import of apex is unused here, and fails without apex",
                hint="remove it, unless another file takes the name from here",
            )
        if removed:
            yield Change(
                span=module.span(removed[0]),
                message="this import of apex is unused: removed",
                edits=tuple(draft.finish()),
            )


def _floats(module: Module) -> Change | None:
    """Return the change of `to_python_float(loss)` of apex to `loss.item()`; None without any."""
    draft = Draft(module)
    calls = [
        call.node
        for call in module.calls
        if is_of_fp16_utils(call.node.func, "to_python_float", module)
        and len(call.node.args) == 1
        and not call.node.keywords
    ]
    if not calls:
        return None
    for node in calls:
        draft.replace(node, f"{as_atom(node.args[0], module)}.item()")
    message = "to_python_float of apex becomes the method item of a tensor"
    return Change(span=module.span(calls[0]), message=message, edits=tuple(draft.finish()))
