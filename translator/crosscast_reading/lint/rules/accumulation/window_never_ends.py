"""CL110: the test that ends a window can be true at most once."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.answers.windows import compared_remainder, end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep, WindowTest


def check(subject: Subject) -> Iterator[Finding]:
    """Find window tests with a constant counter or an impossible remainder."""
    for step in subject.steps:
        yield from _never_by_default(step)
    for step in eager_steps(subject):
        for event, test in end_tests(step):
            if test.never_again and not test.by_caller:
                yield Finding(
                    span=event.module.span(test.node),
                    message=f"with {test.steps_text} above 1 this is {_how_often(test)}",
                    hint=_hint(test, event),
                    related=(event.span,),
                )


def _never_by_default(step: TrainingStep) -> Iterator[Finding]:
    """Find updates under a remainder alone, which is always 0 for windows of 1."""
    for event, test in end_tests(step):
        if test.inverted and isinstance(test.steps, Known) and test.steps.value == 1:
            yield Finding(
                span=event.module.owner_of(test.node).span(test.node),
                message=f"with {test.steps_text} of 1, the default, this is never true",
                hint=compared_remainder(test),
                related=(event.span,),
            )


def _how_often(test: WindowTest) -> str:
    if test.impossible:
        return "never true"
    counter = test.counter or "the counter"
    return f"true at most once: {counter} does not change between updates"


def _hint(test: WindowTest, event: Event) -> str:
    if not test.impossible:
        return "count micro-batches, not updates"
    if "+" in event.module.text(test.node):
        return f"`%` is computed before `+`: write `({test.counter} + 1) % {test.steps_text}`"
    return f"a remainder is less than {test.steps_text}"


RULE = Rule("CL110", check, hints=("backward", "apply_gradients"))
