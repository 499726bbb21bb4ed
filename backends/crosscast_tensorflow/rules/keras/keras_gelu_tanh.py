"""CL707: keras.ops.gelu, which defaults to the approximation."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls without the argument that selects the formula."""
    for name, call in calls_of(subject.program):
        if name in ("keras.ops.gelu", "keras.ops.nn.gelu") and not call.has_star:
            given = {keyword.arg for keyword in call.node.keywords}
            if "approximate" not in given and len(call.node.args) == 1:
                yield Finding(
                    span=call.module.span(call.node),
                    message="keras.ops.gelu uses the tanh approximation by default; "
                    "keras.activations.gelu, PyTorch and Paddle use the error function",
                    hint="pass approximate=True or approximate=False",
                )


RULE = Rule("CL707", check, hints=("ops.gelu",), needs_training=False)
