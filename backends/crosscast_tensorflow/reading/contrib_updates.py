"""Reads the calls of TensorFlow 1's contrib and Slim that clip and apply gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    last,
    numeric,
    text_value,
    unwrapped,
    value_of,
)
from crosscast_reading.readers.python.optimizers import course_facts, family_of
from crosscast_reading.readers.python.schedules import Course, course_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_OPTIMIZE = ("loss", "global_step", "learning_rate", "optimizer")
"""The first parameters of `optimize_loss`."""
_LIBRARIES = ("tensorflow.", "tf_slim.", "slim.")


def contrib_clips(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the clips of `slim.learning.create_train_op` and `layers.optimize_loss`."""
    for name, call in calls_of(program):
        if not name.startswith(_LIBRARIES):
            continue
        if last(name) == "create_train_op":
            yield from _clip(call, "clip_gradient_norm", "per_param_norm", reader)
        elif last(name) == "optimize_loss":
            yield from _clip(call, "clip_gradients", "global_norm", reader)


def _clip(call: Call, argument: str, kind: str, reader: str) -> Iterator[Fact]:
    node = keyword(call.node, argument)
    match value_of(node, call.module):
        case None | Known(value=0 | None):
            return
        case value:
            assert node is not None
    span = call.module.span(node)
    yield fact_of("clipping.kind", Known(kind), span, reader=reader)
    yield fact_of("clipping.per", Known("step"), span, reader=reader)
    yield fact_of("clipping.value", value, span, reader=reader)


def contrib_optimizers(program: Program, reader: str) -> Iterator[Fact]:
    """Yield optimizer, rate and schedule of `tf.contrib.layers.optimize_loss`."""
    for name, call in calls_of(program):
        if last(name) != "optimize_loss" or not name.startswith("tensorflow."):
            continue
        module = call.module
        given = _given(call)
        chosen = given.get("optimizer")
        family = family_of(text_value(value_of(chosen, module)))
        span = module.span(chosen if chosen is not None else call.node)
        yield fact_of("optimizer.name", Known(family or "selectable"), span, reader=reader)
        rate = given.get("learning_rate")
        number = numeric(unwrapped(value_of(rate, module)))
        if number is not None:
            assert rate is not None
            yield fact_of("optimizer.learning_rate", number, module.span(rate), reader=reader)
        decay = given.get("learning_rate_decay_fn")
        if decay is not None and not isinstance(value_of(decay, module), Known):
            course = course_of(decay, module) or Course(decay="custom")
            yield from course_facts(course, reader, module.span(decay), stepped="step")


def _given(call: Call) -> dict[str, ast.expr]:
    arguments = dict(zip(_OPTIMIZE, call.node.args, strict=False))
    return arguments | {k.arg or "": k.value for k in call.node.keywords}
