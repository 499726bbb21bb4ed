"""Schedules whose length counts other batches than those that advance them."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.rules.schedule._replica_lengths import lengths_of_replicas
from crosscast_tensorflow.rules.schedule._sum_lengths import lengths_in_batches


def _of_replicas(subject: Subject) -> Iterator[Finding]:
    """Find lengths counted with the batch of one replica, for batches of all of them."""
    for length in lengths_of_replicas(subject.program):
        call, node, batch = length.call, length.node, length.batch
        yield Finding(
            span=length.module.span(length.quotient),
            message=f"{call.module.text(node)} counts batches of {batch} rows, but the replicas "
            "take a batch of this size each, so there are fewer steps",
            hint="divide by the size of the global batch",
            related=(call.module.span(node),),
        )


def _of_sums(subject: Subject) -> Iterator[Finding]:
    """Find lengths in batches, where an update takes the sum of the gradients of several."""
    for length, window in lengths_in_batches(subject, subject.program):
        call, node, steps = length.call, length.node, window.module.text(window.length)
        yield Finding(
            span=length.module.span(length.quotient),
            message=f"{call.module.text(node)} counts batches, but the schedule advances with "
            f"every update: once in {steps} batches where gradients are added up",
            hint=f"divide by {steps} there",
            related=(window.module.span(window.test), call.module.span(node)),
        )


FORMS = (
    RuleForm(rule="CL503", check=_of_replicas),
    RuleForm(rule="CL503", check=_of_sums),
)
