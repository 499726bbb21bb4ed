"""What configurations of Paddle's encoders do not contain: epsilon and number of classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.fact_writer import content
from crosscast_reading.readers.python.library_calls import matching, value_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program

_NORMS = re.compile(
    r"paddle\.(?:fluid\.layers|static\.nn)\.layer_norm|paddle\.(?:fluid\.dygraph|nn)\.LayerNorm"
)
_USUAL = 1e-5
"""Of every release and each of these names."""
_CLASSES = frozenset({"num_labels", "num_classes", "class_num"})


def encoder_parts(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the facts that a program states of its encoder beside a file with the sizes."""
    yield from _epsilon(program, reader)
    yield from _classes(program, reader)


def _epsilon(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the epsilon of all layer normalizations of a program, if it is the same in all."""
    calls = [call for _, call in matching(program, _NORMS)]
    epsilons = [call.argument("epsilon", Known(_USUAL)) for call in calls if not call.has_star]
    values = {value.value if isinstance(value, Known) else None for value in epsilons}
    if len(epsilons) != len(calls) or len(values) != 1:
        return
    (epsilon,) = values
    if isinstance(epsilon, float) and epsilon > 0:
        places = [call.module.span(call.node) for call in calls[:3]]
        field = "recipe.model.layer_norm_eps"
        yield fact_of(field, Known(epsilon), *places, reader=reader, confidence="likely")


def _classes(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the number of classes that calls are given, if it is the same in all."""
    given = [
        (value_of(keyword.value, call.module), call.module.span(keyword.value))
        for call in program.calls()
        for keyword in call.node.keywords
        if keyword.arg in _CLASSES
    ]
    numbers = {content(value) for value, _ in given}
    if len(numbers) != 1:
        return
    (number,) = numbers
    if isinstance(number, int) and number >= 2:
        places = [span for _, span in given[:3]]
        field = "recipe.model.labels"
        yield fact_of(field, Known(number), *places, reader=reader, confidence="likely")
