"""CL513: an optimizer gets an argument under its name in another library."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
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


RULE = Rule("CL513", check, hints=("optim",), needs_training=False)
