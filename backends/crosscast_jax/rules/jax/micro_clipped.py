"""CL014: every micro-gradient is clipped, and their mean is not."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_jax.answers.chains import chains
from crosscast_jax.rules.jax._examples import loop
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import plain
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips before MultiSteps in a chain."""
    for _, links in chains(subject.program):
        window = next((link for link in links if link.name == "MultiSteps"), None)
        if window is None or window.call is None:
            continue
        if plain(window.call.argument("every_k_schedule")) == 1:
            continue
        for link in links[: links.index(window)]:
            if link.name.startswith("clip") and link.call is not None:
                yield Finding(
                    span=link.call.module.span(link.call.node),
                    message=f"{link.name} stands outside of MultiSteps: every micro-batch is "
                    "clipped, and the gradient of the window is not",
                    hint="chain it with the optimizer inside: optax.MultiSteps(optax.chain("
                    "clip, optimizer), every_k_schedule=k)",
                    related=(window.call.module.span(window.call.node),),
                )


RULE = Rule(
    code="CL014",
    name="micro-batches-clipped",
    topic="jax",
    severity=Severity.WARNING,
    title="Micro-batches that are clipped one by one",
    why="A chain around `optax.MultiSteps` sees every micro-gradient, what it wraps sees their "
    "mean. Clipped one by one, large micro-batches weigh less than others, and the limit is "
    "not that of a large batch.",
    wrong=loop(
        "optax.chain(\n"
        "    optax.clip_by_global_norm(1.0),\n"
        "    optax.MultiSteps(optax.adamw(1e-3), every_k_schedule=4),\n"
        ")"
    ),
    right=loop(
        "optax.MultiSteps(\n"
        "    optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3)),\n"
        "    every_k_schedule=4,\n"
        ")"
    ),
    check=check,
    hints=("MultiSteps",),
    sources=("optax 0.2.8, transforms/_accumulation.py", "tests/probes/jax/test_traps.py"),
)
