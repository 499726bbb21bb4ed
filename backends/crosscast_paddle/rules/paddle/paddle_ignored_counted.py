"""CL815: a mean of cross-entropy that Paddle 3 divides by ignored labels, too."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.ignored_labels import LOSS, counts_ignored
from crosscast_reading.readers.python.library_calls import calls_matching
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find means of cross-entropy whose ignored label is below zero."""
    for call in calls_matching(subject.program, LOSS):
        if counts_ignored(call):
            yield Finding(
                span=call.module.span(call.node),
                message="Paddle 3 divides this mean by the number of all labels, ignored ones "
                "among them",
                hint='give reduction="sum" and divide by the number of labels that count, or '
                "mark ignored labels by a number that is not below zero",
            )


RULE = Rule("CL815", check, hints=("cross_entropy", "CrossEntropyLoss"))
