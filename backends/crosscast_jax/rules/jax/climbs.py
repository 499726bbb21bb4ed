"""CL013: updates that go up."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_jax.answers.chains import Link, chains
from crosscast_jax.rules.jax._examples import loop
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import plain
from crosscast_reading.sources.subject import Subject

_CHANGES = ("scale_by_learning_rate", "scale_by_schedule", "scale_by_backtracking_linesearch")
"""What may change the sign."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find chains of directions that end with a positive factor."""
    for _, links in chains(subject.program):
        end = links[-1] if links else Link()
        if end.name != "scale" or end.call is None or not all(link.known for link in links):
            continue
        if any(link.is_optimizer or link.name in _CHANGES for link in links):
            continue
        factors = [plain(link.call.argument("step_size")) for link in links
                   if link.name == "scale" and link.call is not None]  # fmt: skip
        signs = [value > 0 for value in factors if isinstance(value, int | float)]
        directed = any(link.name.startswith("scale_by_") for link in links)
        if directed and len(signs) == len(factors) and all(signs):
            yield Finding(
                span=end.call.module.span(end.call.node),
                message=f"the chain ends with a positive factor, {factors[-1]}: apply_updates adds "
                "it, and the loss goes up",
                hint="write the rate with a minus, or optax.scale_by_learning_rate(rate)",
            )


RULE = Rule(
    code="CL013",
    name="climbs",
    topic="jax",
    severity=Severity.ERROR,
    title="Updates that go up",
    why="`optax.apply_updates` adds. `optax.adam(rate)` returns negative multiples of the rate; "
    "`scale_by_adam()` with `scale(rate)` does not, and goes along the gradient.",
    wrong=loop("optax.chain(optax.scale_by_adam(), optax.scale(1e-3))"),
    right=loop("optax.chain(optax.scale_by_adam(), optax.scale(-1e-3))"),
    check=check,
    hints=("optax.scale", "scale("),
    sources=("optax 0.2.8, transforms and _src/update.py", "tests/probes/jax/test_traps.py"),
)
