"""Losses that are scaled by hand although the model gets its inputs in bfloat16."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.readers.python.module_words import words_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.reading.half_inputs import half_inputs
from crosscast_tensorflow.reading.keras import scales_by_hand

_HALF = re.compile(r"(?<!b)float16|fp16|half")


def _of_tapes(subject: Subject) -> Iterator[Finding]:
    """Find losses of Keras that are scaled although the model gets inputs in bfloat16."""
    program = subject.program
    if any(_HALF.search(w) for m in program.modules for w in words_of(m)):
        return  # the type may be chosen
    casts = {call.module.function_of(call.node): call for call in half_inputs(program)}
    for call in scales_by_hand(program) if casts else ():
        cast = casts.get(call.module.function_of(call.node))
        if cast is not None:
            yield Finding(
                span=call.module.span(call.node),
                message="the loss is scaled, but the model gets its inputs in bfloat16",
                hint="remove the loss scale",
                related=(cast.module.span(cast.node),),
            )


FORMS = (RuleForm(rule="CL207", check=_of_tapes),)
