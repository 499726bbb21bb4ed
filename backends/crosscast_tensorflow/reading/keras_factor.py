"""Reads the loss scale of Keras 3 without LossScaleOptimizer: the optimizer's own factor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.compiled_models import compiled
from crosscast_reading.readers.python.library_calls import plain
from crosscast_tensorflow.reading.keras_optimizers import is_given, optimizer_calls

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.program import Program


def scaling_is_off(program: Program) -> bool:
    """Whether every `compile` has auto_scale_loss=False, so that no optimizer is wrapped."""
    calls = list(compiled(program))
    return bool(calls) and all(plain(call.argument("auto_scale_loss")) is False for call in calls)


def fixed_scale(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the fixed scale, or that nothing scales, if automatic scaling is off."""
    places = [call.module.span(call.node) for call in compiled(program)]
    given = list(factors(program))
    if not given:
        yield fact_of("loss_scaling.mode", Known("none"), *places, reader=reader)
    for value, span in given:
        yield fact_of("loss_scaling.mode", Known("static"), span, *places, reader=reader)
        yield fact_of("loss_scaling.scale", value, span, reader=reader)


def factors(program: Program) -> Iterator[tuple[Value, Span]]:
    """Yield the loss_scale_factor of optimizers, the factor of their scale_loss()."""
    for _, call in optimizer_calls(program):
        value = is_given(call, "loss_scale_factor")
        if value is not None:
            yield value, call.module.span(call.node)
