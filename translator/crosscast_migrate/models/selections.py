"""Functions that choose between two values by a condition, where that is a known operation."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import Tensor

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
            made = next((s for s in machine.graph.steps if s.output == other.number), None)
            scales = made is not None and made.kind == "scale" and made.inputs == (number,)
            if made is not None and scales and made.settings["offset"] == 0.0:
                slope = made.settings["scale"]
                return machine.graph.apply("leaky_relu", [tensor], {"slope": slope})
    raise UnreadableError("a choice between two values is not carried", span)
