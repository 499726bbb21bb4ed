"""CL980: the betas of toygrad's AdamW are in the wrong order."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find betas of which the second one is smaller."""
    for call in subject.program.calls("toygrad.AdamW"):
        match call.argument("betas"):
            case Known(value=(float(first), float(second))) if second < first:
                yield Finding(
                    span=call.module.span(call.node),
                    message=f"the squares are averaged with {second}, the gradients with {first}",
                    hint="give the beta of the gradients first",
                )


RIGHT = """\
import toygrad

model = Net()
optimizer = toygrad.AdamW([(model.weights, 0.1)], (0.9, 0.999), 1e-8)
for rows, labels in loader:
    loss = toygrad.cross_entropy(model(rows), labels, "mean")
    loss.backward()
    toygrad.clip_grad_norm(model.weights, 1.0, 0.0)
    optimizer.step()
    for weight in model.weights:
        weight.grad = None
"""
RULE = Rule(
    code="CL980",
    name="toy-betas-swapped",
    topic="optimizer",
    severity=Severity.ERROR,
    title="The betas of toygrad's AdamW are swapped",
    why="The squares of the gradients are averaged over few updates only.",
    wrong=RIGHT.replace("(0.9, 0.999)", "(0.999, 0.9)"),
    right=RIGHT,
    check=check,
    hints=("toygrad",),
)
