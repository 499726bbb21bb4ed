"""CL507: Adam with coupled weight decay, where BERT recipes use AdamW."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.optimizer._decay import decay_groups
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find torch.optim.Adam with groups with and without decay."""
    for module in subject.program.modules:
        for call in module.calls:
            if set(call.names) != {"torch.optim.Adam"}:
                continue
            params = call.bound().get("params")
            groups = _list_of(params, module)
            if groups is None:
                continue
            kinds = decay_groups(groups, module)
            if any(not group.none for group in kinds) and any(group.none for group in kinds):
                yield Finding(
                    span=module.span(call.node),
                    message="torch.optim.Adam adds weight decay to the gradients and then "
                    "divides it by their size",
                    hint="use torch.optim.AdamW for decoupled weight decay",
                    related=(module.span(groups),),
                )


def _list_of(node: ast.expr | None, module: Module) -> ast.List | None:
    match node:
        case ast.List():
            return node
        case ast.Name():
            match definitions(node, module):
                case [Binding(assigned=ast.List() as groups)]:
                    return groups
    return None


RULE = Rule("CL507", check, hints=("Adam(",))
