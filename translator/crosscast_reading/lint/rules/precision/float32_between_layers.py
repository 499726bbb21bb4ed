"""CL409: activations are cast to float32 between layers."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.mixed_precision import kept_by
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.lint.rules.precision._kept import FORMULA, MODEL
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find casts whose float32 result is summed or goes through an activation to a layer."""
    for _, findings in kept_by(subject.program).findings:
        for (cause, place), leak in findings.leaks.items():
            via = leak.mark.via
            if cause != "cast" or via is None:
                continue
            yield Finding(
                span=place.module.span(place.node),
                message=f"{place.text} makes an activation float32, and {via.text} stays float32 "
                f"up to {leak.consumer.text}",
                hint="leave it out: products, softmax and normalizations compute in the type that "
                f"they need; float32 takes {FORMULA}",
                related=(
                    via.module.span(via.node),
                    leak.consumer.module.span(leak.consumer.node),
                ),
            )


RULE = Rule(
    code="CL409",
    name="float32-between-layers",
    topic="precision",
    severity=Severity.NOTE,
    title="An activation is float32 between two layers",
    why="A sum, an activation function or an elementwise product of a float32 tensor is float32, "
    "too, and what it keeps for the backward pass takes twice the memory. The next product rounds "
    "to half in any case, so that little precision is won.",
    wrong=changed(
        MODEL,
        (
            "        x = self.norm1(x + self.attention(x))\n        return",
            "        x = self.norm1(x + self.attention(x)).float()\n        return",
        ),
    ),
    right=MODEL,
    check=check,
    hints=("autocast", "auto_cast", "amp_guard", "mixed_"),
    sources=("PyTorch docs, Autocast Op Reference",),
)
