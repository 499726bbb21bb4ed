"""CL102: a loss is divided twice by the length of the window."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import ACCUMULATION, changed
from crosscast.lint.rules._loop import backward_of, compatible, eager_steps, known_word
from crosscast.lint.rules._windows import ACCUMULATES, end_tests
from crosscast.messages.diagnostics import Severity
from crosscast.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find two divisions of one loss by the same number."""
    for step in eager_steps(subject):
        keys = {test.key for _, test in end_tests(step)}
        backward = backward_of(step)
        for first, second in combinations(step.of("divide_loss"), 2):
            key = known_word(first, "by_key")
            if key != known_word(second, "by_key") or not compatible(first, second):
                continue
            text = str(known_word(second, "by_text"))
            if key not in keys and not ACCUMULATES.search(text):
                continue
            both = {id(first.node), id(second.node)}
            ways = [set(known_word(event, "divided_at") or ()) for event in backward]  # type: ignore[call-overload]
            if any(both <= way for way in ways):
                yield Finding(
                    span=second.span,
                    message=f"the loss was already divided by {known_word(first, 'by_text')}",
                    hint="divide once",
                    related=(first.span,),
                )


RULE = Rule(
    code="CL102",
    name="loss-divided-twice",
    topic="accumulation",
    severity=Severity.ERROR,
    title="The loss is divided twice by the length of the window",
    why="The update uses 1/N of the mean gradient. With SGD this divides the learning rate by N, "
    "and clipping by norm hardly ever takes effect.",
    wrong=changed(
        ACCUMULATION, ("    loss.backward()\n", "    loss = loss / steps\n    loss.backward()\n")
    ),
    right=ACCUMULATION,
    check=check,
    hints=("backward",),
)
