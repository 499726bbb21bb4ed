"""CL021: an overflow is noticed and applied all the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_jax.answers.scaled import scaled_gradients
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

_GUARDS = re.compile(
    r"isfinite\(|is_finite\(|apply_if_finite|skip_not_finite|zero_nans|nan_to_num|isnan\("
)
"""What a program may test gradients by itself with."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find loss scales whose second result is not read."""
    if any(_GUARDS.search(module.code) for module in subject.program.modules):
        return
    for results in scaled_gradients(subject.program):
        if not results.is_read(1):
            yield Finding(
                span=results.module.span(results.node),
                message="nothing checks whether the gradients are finite: an overflow makes the "
                "weights nan",
                hint="keep weights and optimizer as they were where they are not: "
                "`jax.tree.map(functools.partial(jnp.where, finite), new, old)`",
            )


RULE = Rule("CL021", check, hints=("DynamicScale",))
