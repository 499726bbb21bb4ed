"""Functions that choose between two values by a condition, where that is a known operation."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models.network import Step, UnreadableError
from crosscast_migrate.models.objects import Tensor
from crosscast_migrate.models.tensor_calls import chosen

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_migrate.models.machine import ModelMachine


def selected(
    machine: ModelMachine, node: ast.Call, given: Sequence[Any], span: Span | None
) -> Tensor:
    """Return `where(x > 0, x, x * slope)`, the leaky ReLU with its slope at 0, too.

    Raises:
        UnreadableError: it is another choice.
    """
    match node.args, given:
        case (
            [
                ast.Compare(
                    left=ast.Name(id=condition),
                    ops=[ast.Gt()],
                    comparators=[ast.Constant(value=0 | 0.0)],
                ),
                ast.Name(id=kept),
                _,
            ],
            [_, Tensor(number=number) as tensor, Tensor() as other],
        ) if condition == kept:
            producer = next((s for s in machine.graph.steps if s.output == other.number), None)
            if producer is not None and _is_slope(producer, number):
                slope = {"slope": producer.settings["scale"]}
                return machine.graph.apply("leaky_relu", [tensor], slope)
    if len(given) != 3:
        raise UnreadableError("a choice without two values is not carried", span)
    return chosen(machine, given, span)


def _is_slope(step: Step, number: int) -> bool:
    """Whether a step multiplies a value by a number."""
    return step.kind == "scale" and step.inputs == (number,) and step.settings["offset"] == 0.0
