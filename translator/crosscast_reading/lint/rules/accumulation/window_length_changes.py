"""CL117: the length of the windows changes while a counter of all micro-batches continues."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.answers.windows import end_tests, length_set
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event


def check(subject: Subject) -> Iterator[Finding]:
    """Find lengths that are assigned in the loop while the counter continues."""
    for step in eager_steps(subject):
        for event, test in end_tests(step):
            modulo = any(isinstance(node, ast.Mod) for node in walk(test.node))
            if not modulo or not test.steps_text.isidentifier() or not test.counter:
                continue
            changed_at = length_set(event, test.steps_text, within_epoch=test.restarts is True)
            if changed_at is None or _restarts(event, changed_at, test.counter):
                continue
            yield Finding(
                span=event.module.span(changed_at),
                message=f"{test.steps_text} changes while {test.counter} keeps running, so the "
                "next window is too short or too long",
                hint=f"reset {test.counter} when it changes",
                related=(event.module.span(test.node),),
            )


def _restarts(event: Event, near: ast.Assign, counter: str) -> bool:
    """Whether the counter is assigned next to the length."""
    parent = event.module.parent(near)
    assert parent is not None
    inside = [node for node in walk(parent) if isinstance(node, ast.Assign)]
    return any(counter in map(event.module.text, node.targets) for node in inside)


RULE = Rule("CL117", check, hints=("%",))
