"""CL706: LayerNormalization of Keras with its default epsilon in a BERT."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

_BERT = re.compile(r"(?<![a-z])(ro|al|distil)?berta?(?![a-z])|^ernie|electra", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find LayerNormalization without epsilon in files with names of BERT."""
    program = subject.program
    seen: set[str] = set()
    for name, call in calls_of(program):
        if name != "keras.layers.LayerNormalization" or call.has_star:
            continue
        module = call.module
        if "epsilon" in call.bound() or module.source.name in seen or not _is_bert(module):
            continue
        seen.add(module.source.name)
        yield Finding(
            span=module.span(call.node),
            message="LayerNormalization has epsilon 1e-3 by default; BERT was trained with 1e-12",
            hint="write LayerNormalization(epsilon=1e-12)",
        )


def _is_bert(module: Module) -> bool:
    names = [*module.classes, *module.functions]
    return any(_BERT.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) for name in names)


RULE = Rule("CL706", check, hints=("LayerNormalization",), needs_training=False)
