"""CL022: the new loss scale is thrown away."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_jax.answers.scaled import scaled_gradients
from crosscast_jax.rules.jax._examples import SCALED
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


RULE = Rule(
    code="CL022",
    name="scale-stays",
    topic="jax",
    severity=Severity.WARNING,
    title="A loss scale that never changes",
    why="`DynamicScale` does not change: `value_and_grad` returns the next one. If it is dropped, "
    "the scale stays at 65536, and training that overflows there once does so for ever.",
    wrong=SCALED.replace("    scale, finite, loss", "    _, finite, loss")
    .replace("new, state), scale", "new, state)")
    .replace("state, scale = train_step", "state = train_step"),
    right=SCALED,
    check=check,
    hints=("DynamicScale",),
    sources=("flax 0.12.8, training/dynamic_scale.py", "tests/probes/jax/test_traps.py"),
)
