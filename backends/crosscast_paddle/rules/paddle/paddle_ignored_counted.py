"""CL815: a mean of cross-entropy that Paddle 3 divides by ignored labels, too."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_paddle.answers.amp import AMP
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
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


_LOSS = "paddle.nn.functional.mse_loss(model(inputs), targets)"
_MEAN = "paddle.nn.functional.cross_entropy(model(inputs), targets{})"
_SUM = ', ignore_index=-1, reduction="sum") / (targets != -1).sum('

RULE = Rule(
    code="CL815",
    name="paddle-ignored-counted",
    topic="paddle",
    severity=Severity.WARNING,
    title="Paddle 3: a mean counts labels that it ignores",
    why="A mean of cross-entropy is divided by the labels that count in PyTorch, in Paddle 2, and "
    "in Paddle 3 if the ignored label is not below zero. If it is, as -100 by default, Paddle 3 "
    "divides by all labels: the more labels are ignored, the smaller are loss and gradients, by a "
    "factor of 6.7 if 15 % of the tokens have a label. Measured with Paddle 2.6.2, 3.0.0 and "
    "3.3.1.",
    wrong=changed(AMP, (_LOSS, _MEAN.format(", ignore_index=-1"))),
    right=changed(AMP, (_LOSS, _MEAN.format(_SUM))),
    check=check,
    hints=("cross_entropy", "CrossEntropyLoss"),
    sources=("Paddle 3.3.1, paddle.nn.functional.cross_entropy",),
)
