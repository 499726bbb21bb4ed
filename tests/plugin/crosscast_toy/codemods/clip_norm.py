"""CM901: toygrad.clip_norm to toygrad.clip_grad_norm."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.sources.subject import Subject

OLD = "toygrad.clip_norm"


def run(subject: Subject) -> Iterator[Outcome]:
    """Change calls by the full name; refuse what hides the arguments."""
    for call in subject.program.calls(OLD):
        module, node = call.module, call.node
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name()), args=[weights, most], keywords=[]):
                given = f"{module.text(weights)}, {module.text(most)}, 0.0"
                edits = (replace_node(module, node, f"toygrad.clip_grad_norm({given})"),)
                message = "toygrad.clip_grad_norm with an eps of 0"
                yield Change(span=module.span(node), message=message, edits=edits)
            case _:
                yield Refusal(
                    span=module.span(node),
                    message="the arguments of clip_norm are not plain",
                    hint="call clip_grad_norm with an eps of 0",
                )


BEFORE = """\
import toygrad

loss.backward()
toygrad.clip_norm(weights, 1.0)
optimizer.step()
"""
CODEMOD = Codemod(
    code="CM901",
    name="toy-clip-norm",
    api="toygrad1",
    title="toygrad.clip_norm to toygrad.clip_grad_norm",
    hints=("clip_norm",),
    examples=(
        Example(
            before=BEFORE,
            after=BEFORE.replace("clip_norm(weights, 1.0)", "clip_grad_norm(weights, 1.0, 0.0)"),
        ),
        Example(
            before=BEFORE.replace("weights, 1.0", "*limits"),
            after=BEFORE.replace("weights, 1.0", "*limits"),
            refused="not plain",
        ),
    ),
    run=run,
)
