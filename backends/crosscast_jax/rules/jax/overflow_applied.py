"""CL021: an overflow is noticed and applied all the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_jax.answers.scaled import scaled_gradients
from crosscast_jax.rules.jax._examples import SCALED
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


RULE = Rule(
    code="CL021",
    name="overflow-applied",
    topic="jax",
    severity=Severity.WARNING,
    title="Gradients that are applied though they overflowed",
    why="Flax' `DynamicScale` lowers the scale after an overflow and returns the gradients as "
    "they are, nan or inf. Leaving the step out is the program's part: weights and the state "
    "of the optimizer must stay.",
    wrong=SCALED.replace("    pick = functools.partial(jnp.where, finite)\n", "")
    .replace("jax.tree.map(pick, new, state), scale", "new, scale")
    .replace("import functools\n\n", "")
    .replace("import jax.numpy as jnp\n", ""),
    right=SCALED,
    check=check,
    hints=("DynamicScale",),
    sources=("flax 0.12.8, training/dynamic_scale.py", "tests/probes/jax/test_traps.py"),
)
