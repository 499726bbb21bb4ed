"""CL117: the length of the windows changes while a counter of all micro-batches continues."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.answers.windows import end_tests, length_set
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event

_RIGHT = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
steps = 2
seen = 0
optimizer.zero_grad()
for epoch in range(3):
    if epoch == 1:
        steps = 7
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets) / steps
        loss.backward()
        seen += 1
        if seen == steps:
            optimizer.step()
            optimizer.zero_grad()
            seen = 0
"""
_WRONG = changed(_RIGHT, ("seen == steps", "seen % steps == 0"), ("            seen = 0\n", ""))


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


RULE = Rule(
    code="CL117",
    name="window-length-changes",
    topic="accumulation",
    severity=Severity.NOTE,
    title="The window length changes while the counter keeps running",
    why="After N changes, the next window can have any number of micro-batches between 1 and N, "
    "but its losses are divided by N.",
    wrong=_WRONG,
    right=_RIGHT,
    check=check,
    hints=("%",),
)
