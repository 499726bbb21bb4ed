"""CL014: every micro-gradient is clipped, and their mean is not."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_jax.answers.chains import chains
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


RULE = Rule("CL014", check, hints=("MultiSteps",))
