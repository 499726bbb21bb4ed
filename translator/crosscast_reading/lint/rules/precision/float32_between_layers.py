"""CL409: activations are cast to float32 between layers."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.mixed_precision import kept_by
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.precision._kept import FORMULA
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


RULE = Rule("CL409", check, hints=("autocast", "auto_cast", "amp_guard", "mixed_"))
