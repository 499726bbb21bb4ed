"""CL022: the new loss scale is thrown away."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_jax.answers.scaled import scaled_gradients
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find loss scales whose first result is not read."""
    for results in scaled_gradients(subject.program):
        if not results.is_read(0):
            yield Finding(
                span=results.module.span(results.node),
                message="the new loss scale is thrown away: after an overflow every step overflows",
                hint="return it, and give it to the next step",
            )


RULE = Rule("CL022", check, hints=("DynamicScale",))
