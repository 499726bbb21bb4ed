"""CL103: a short last window is divided by the full number of micro-batches."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps, known_word
from crosscast_reading.lint.answers.windows import end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops that apply a short window and divide by the full number."""
    for step in eager_steps(subject):
        last = [(event, test) for event, test in end_tests(step) if test.last and step.by_hand]
        divided = [
            candidate
            for candidate in step.of("divide_loss")
            if any(known_word(candidate, "by_key") == test.key for _, test in last)
            and "times" not in candidate.detail
        ]
        if last and divided:
            event, test = last[0]
            yield Finding(
                span=divided[0].span,
                message="a short last window is applied, but its losses are divided by "
                f"{test.steps_text}",
                hint="divide by the actual number of micro-batches in the window",
                related=(event.span,),
            )


RULE = Rule("CL103", check, hints=("backward",))
