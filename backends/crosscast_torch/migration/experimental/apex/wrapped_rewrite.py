"""Rewrites a loop with apex's FP16_Optimizer for torch.amp."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from crosscast_reading.edits.layout import Draft, indent_of, unit_of
from crosscast_torch.migration.experimental.apex.halves import WRAPPERS, remove_around, remove_cast
from crosscast_torch.migration.experimental.apex.imports import remove_aliases
from crosscast_torch.migration.experimental.apex.loop_rewrite import WIDTH, Loop, write_loop
from crosscast_torch.migration.experimental.apex.wrapped import Wrapped
from crosscast_torch.migration.experimental.torch_name import torch_in

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_NAMES = ("FP16_Optimizer", *WRAPPERS)


def write_wrapped(loop: Loop, found: Wrapped) -> dict[Module, Draft]:
    """Return the drafts of all modules."""
    write_loop(loop)
    for call in found.clips:
        draft = loop.draft(call.module)
        weights = f'[p for group in {call.receiver_text}.param_groups for p in group["params"]]'
        given = [*call.node.args, *call.node.keywords]
        more = ", ".join(call.module.text(argument) for argument in given)
        line = f"{torch_in(draft)}.nn.utils.clip_grad_norm_({weights}, {more})"
        statement = cast(ast.stmt, call.module.statement_of(call.node))
        indent, unit = indent_of(call.module, statement), unit_of(call.module, statement)
        if len(indent) + len(line) > WIDTH:
            head = f"{torch_in(draft)}.nn.utils.clip_grad_norm_("
            line = f"{head}\n{indent}{unit}{weights}, {more}\n{indent})"
        draft.replace(call.node, line)
    for call in found.updates:
        loop.draft(call.module).remove(cast(ast.stmt, call.module.statement_of(call.node)))
    for module, node in found.reads:
        loop.draft(module).replace(node, f"{loop.scaler(module, node)}.get_scale()")
    for call in found.halves:
        remove_cast(loop.draft(call.module), call.node)
    for call in found.networks:
        remove_around(loop.draft(call.module), call.node, call.node.args[0])
    for module in found.program.modules:
        for statement, taken in _imports(module):
            remove_aliases(loop.draft(module), statement, taken, loop.stops)
    return loop.drafts


def _imports(module: Module) -> Iterator[tuple[ast.ImportFrom, list[ast.alias]]]:
    for statement in module.every(ast.ImportFrom):
        home = statement.module or ""
        if statement.level or not home.startswith("apex."):
            continue
        taken = [alias for alias in statement.names if alias.name in _NAMES]
        if taken:
            yield statement, taken
