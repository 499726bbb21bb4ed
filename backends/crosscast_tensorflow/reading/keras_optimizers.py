"""Reads the settings of Keras optimizers for accumulation, clipping and averaging."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.values.value import Known, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import (
    last,
    matching,
    value_of,
)
from crosscast_reading.readers.python.optimizers import family_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

NAME = "keras-optimizers"
OPTIMIZER = re.compile(
    r"(keras\.optimizers\.((legacy|experimental|v1|v2|\w+_v2|\w+)\.)?|tensorflow_addons\."
    r"optimizers\.(\w+\.)?)(?!schedules)[A-Z]\w*"
)
_CLIPS = {"global_clipnorm": "global_norm", "clipnorm": "per_param_norm", "clipvalue": "value"}


class KerasOptimizerReader:
    """Reads the keyword arguments that all Keras optimizers share."""

    name = NAME
    hints = ("keras", "tensorflow_addons", "tfa.", "optimizers")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        for _name, call in optimizer_calls(program):
            yield from _clips(call)
            yield from _accumulation(call)
            yield from _average(call)


def optimizer_calls(program: Program) -> Iterator[tuple[str, Call]]:
    """Yield the calls that create a Keras optimizer, wrappers included."""
    for name, call in matching(program, OPTIMIZER):
        if family_of(last(name)) or last(name) == "LossScaleOptimizer":
            yield name, call


def is_given(call: Call, name: str) -> Value | None:
    """Return the value of an argument that is given and not None or zero."""
    if name not in call.bound():
        return None
    value = call.argument(name)
    if isinstance(value, Known) and (value.value is None or value.value is False):
        return None
    return value


def _clips(call: Call) -> Iterator[Fact]:
    span = call.module.span(call.node)
    given = {argument: is_given(call, argument) for argument in _CLIPS}
    several = sum(value is not None for value in given.values()) > 1
    for argument, word in _CLIPS.items():
        value = given[argument]
        if value is None:
            continue
        kind = "selectable" if several else word  # a configuration leaves all but one None
        yield fact_of("clipping.kind", Known(kind), span, reader=NAME)
        yield fact_of("clipping.value", value, span, reader=NAME)
        yield fact_of("clipping.per", Known("step"), span, reader=NAME)
        yield fact_of("clipping.unscaled_first", Known("library"), span, reader=NAME)


def _accumulation(call: Call) -> Iterator[Fact]:
    value = is_given(call, "gradient_accumulation_steps")
    if value is None or value == Known(1):
        return
    span = call.module.span(call.node)
    yield fact_of("accumulation.present", Known("yes"), span, reader=NAME)
    yield fact_of("accumulation.steps", value, span, reader=NAME)
    for field, word in (
        ("loss_divided", "library"),
        ("tail", "carried_over"),
        ("no_sync", "library"),
    ):
        yield fact_of(f"accumulation.{field}", Known(word), span, reader=NAME)
    yield fact_of("zero_grad.where", Known("library"), span, reader=NAME)


def _average(call: Call) -> Iterator[Fact]:
    if is_given(call, "use_ema") is not None:
        value = call.argument("ema_momentum") or Known(0.99, "library_default")
        yield fact_of("ema.decay", value, call.module.span(call.node), reader=NAME)


def named_optimizer(call: Call) -> tuple[str, object] | None:
    """Return the optimizer that `compile` gets as a string, and the expression."""
    node = call.bound().get("optimizer")
    if node is None and call.node.args:
        node = call.node.args[0]
    if node is None:
        return None
    value = value_of(node, call.module)
    match value:
        case Known(value=str(text)) | Unknown(default=str(text), has_default=True):
            return text, node
    return None


READER = KerasOptimizerReader()
