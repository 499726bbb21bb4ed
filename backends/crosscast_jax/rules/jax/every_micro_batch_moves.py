"""CL026: updates are added up beside an optimizer that moves with every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_jax.answers.chains import chains
from crosscast_jax.rules.jax._examples import loop
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


RULE = Rule(
    code="CL026",
    name="every-micro-batch-moves",
    topic="jax",
    severity=Severity.WARNING,
    title="apply_every beside an optimizer with moments",
    why="`optax.apply_every` adds up updates and hands out zeros until the last of them. Behind "
    "Adam it adds up whole steps, one of each micro-batch; before Adam, moments decay and weights "
    "move while it hands out zeros. Only for SGD without momentum is the result that of the "
    "summed gradients.",
    wrong=loop("optax.chain(optax.adamw(1e-3), optax.apply_every(4))"),
    right=loop("optax.MultiSteps(optax.adamw(1e-3), every_k_schedule=4)"),
    check=check,
    hints=("apply_every",),
    sources=("optax 0.2.8, transforms/_accumulation.py", "tests/probes/jax/test_optax.py"),
)
