"""CL026: updates are added up beside an optimizer that moves with every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_jax.answers.chains import chains
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import plain
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find apply_every in a chain with an optimizer that keeps moments."""
    for _, links in chains(subject.program):
        every = next((link for link in links if link.name == "apply_every"), None)
        keeper = next((link for link in links if link.keeps), None)
        if every is None or every.call is None or keeper is None or keeper.call is None:
            continue
        if "k" not in every.call.bound() or plain(every.call.argument("k")) == 1:
            continue
        behind = links.index(keeper) < links.index(every)
        with_what = "with every micro-batch" if behind else "with zeros between the sums"
        yield Finding(
            span=every.call.module.span(every.call.node),
            message=f"apply_every adds up what comes to it, and {keeper.name} moves its moments "
            f"{with_what}: that is no large batch",
            hint="take optax.MultiSteps(optimizer, every_k_schedule=k), which averages the "
            "gradients and then makes one update",
            related=(keeper.call.module.span(keeper.call.node),),
        )


RULE = Rule("CL026", check, hints=("apply_every",))
