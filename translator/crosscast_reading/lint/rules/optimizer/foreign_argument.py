"""CL513: an optimizer gets an argument under its name in another library."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import PLAIN, changed
from crosscast_reading.pysource.libraries.words import all_words
from crosscast_reading.pysource.names.star_imports import may_be_rebound
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find keywords that certainly raise TypeError, or ValueError in Keras."""
    program = subject.program
    rows = [row for words in all_words() for row in words.foreign_arguments]
    for name, call in calls_of(program):
        if len(call.names) != 1 or may_be_rebound(call.node.func, call.module):
            continue
        for pattern, words in rows:
            for word in call.node.keywords if re.fullmatch(pattern, name) else ():
                hint = words.get(word.arg or "")
                if hint:
                    yield Finding(
                        span=call.module.span(word),
                        message=f"{name} has no argument {word.arg}: the call raises an exception",
                        hint=hint,
                    )


RULE = Rule(
    code="CL513",
    name="foreign-argument",
    topic="optimizer",
    severity=Severity.ERROR,
    title="An argument of an optimizer under the name of another library",
    why="PyTorch, Keras and Paddle call the same numbers differently, and none of them accepts "
    "the names of the others. The line raises an exception when it is reached, which on a rare "
    "branch may be after the data was prepared.",
    wrong=changed(PLAIN, ("lr=0.1)", "learning_rate=0.1)")),
    right=PLAIN,
    check=check,
    hints=("optim",),
    sources=("torch 2.13, Keras 3.15, tf_keras 2.21, Paddle 3.3.1: signatures of the classes",),
    needs_training=False,
)
