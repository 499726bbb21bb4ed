"""CL015: a guard inside MultiSteps, which comes too late."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_jax.answers.chains import links_of
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

_BEFORE = re.compile(r"zero_nans|nan_to_num|isfinite\(|is_finite\(")
"""What may take out what is not finite before it is added up."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find apply_if_finite inside of MultiSteps."""
    if any(_BEFORE.search(module.code) for module in subject.program.modules):
        return
    for name, call in calls_of(subject.program):
        inner = call.bound().get("opt") if name == "optax.MultiSteps" else None
        if inner is None or "should_skip_update_fn" in call.bound():
            continue
        links = links_of(inner, call.module)
        guard = next((link for link in links if link.name == "apply_if_finite"), None)
        if guard is not None and guard.call is not None:
            yield Finding(
                span=guard.call.module.span(guard.call.node),
                message="one micro-gradient that is not finite stays in the sums of MultiSteps for "
                "ever: apply_if_finite refuses every later window, then accepts nan",
                hint="add up in the step and test the sum, or pass "
                "should_skip_update_fn=optax.skip_not_finite, which leaves the micro-batch out",
                related=(call.module.span(call.node),),
            )


RULE = Rule("CL015", check, hints=("MultiSteps",))
