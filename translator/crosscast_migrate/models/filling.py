"""What weights are filled with: by functions and methods, and by initializers of the program."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import Initializer, Weight
from crosscast_reading.pysource.machine.frames import Closure, Variables

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine


def filled(
    machine: ModelMachine,
    weight: Weight,
    name: str,
    given: Sequence[Any],
    named: Mapping[str, Any],
) -> Weight:
    """Record what a weight is filled with."""
    word = name.rpartition(".")[2]
    row = machine.tables.fills.get(word)
    weight.layer.drawn[weight.name] = row.drawn(given, named) if row is not None else None
    return weight


def own_initializer(
    machine: ModelMachine, closure: Closure, node: ast.Call, frame: Variables
) -> Any:
    """Return the numbers that a function of the program draws for a weight of any shape."""
    unknown = machine.unknown(node, frame)
    parameters = closure.node.args.args[len(closure.given) :]
    try:
        value = machine.run_function(closure, [unknown for _ in parameters])
    except UnreadableError:
        return unknown
    return value if isinstance(value, Initializer) else unknown
