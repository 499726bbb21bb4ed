"""CL903: the graph rewrite under a name that was removed from TensorFlow 2."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.outdated_apis import older, spans, used
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

_GONE = "tensorflow.train.experimental.enable_mixed_precision_graph_rewrite"


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls of the removed name."""
    for module, _, places in used(subject, lambda name: name == _GONE):
        if subject.program and older(subject.program, "tensorflow", "2.10"):
            return
        yield Finding(
            span=module.span(places[0]),
            message="tf.train.experimental.enable_mixed_precision_graph_rewrite was removed: the "
            "call raises AttributeError",
            hint="set the policy instead: "
            'tf.keras.mixed_precision.set_global_policy("mixed_float16"); for optimizers of '
            "tf.compat.v1 there is tf.compat.v1.mixed_precision",
            related=spans(module, places),
        )


RULE = Rule("CL903", check, hints=("enable_mixed_precision_graph_rewrite",), needs_training=False)
