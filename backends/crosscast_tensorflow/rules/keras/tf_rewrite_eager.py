"""CL719: graphs are rewritten to float16, but the training step is none."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import program_of
from crosscast_tensorflow.reading.eager_steps import eager_tape
from crosscast_tensorflow.reading.rewrite import rewrites_by_call


def check(subject: Subject) -> Iterator[Finding]:
    """Find rewrites in programs whose tapes all run in a plain loop."""
    program = program_of(subject)
    rewrites = list(rewrites_by_call(program)) if program is not None else []
    tape = eager_tape(program) if program is not None and rewrites else None
    for cast in rewrites if tape is not None else ():
        assert tape is not None
        yield Finding(
            span=cast.module.span(cast.node),
            message="only graphs are rewritten to float16, but the training step is no "
            "tf.function: it runs in float32",
            hint="decorate the training step with @tf.function",
            related=(tape.module.span(tape.node),),
        )


RULE = Rule("CL719", check, hints=("auto_mixed_precision", "enable_mixed_precision_graph_rewrite"))
