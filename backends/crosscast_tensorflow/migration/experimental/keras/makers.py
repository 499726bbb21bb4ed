"""Which calls made an object."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.meaning import Meaning, meanings_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module


def makers_of(node: ast.expr, module: Module) -> list[Call] | None:
    """Return the calls that may have created an object; None if not all of them are visible.

    For a name read by a nested function, only its last values count.
    """
    meanings: list[Meaning] = []
    for value in _last_values(node, module):
        meanings += meanings_of(value, module)
    calls = [
        (meaning.module or module).call(meaning.call)
        for meaning in meanings
        if meaning.kind == "instance" and meaning.call is not None
    ]
    return calls if calls and len(calls) == len(meanings) else None


def _last_values(node: ast.expr, module: Module) -> list[ast.expr]:
    """Return the last values assigned to a name of an outer function; otherwise the node itself."""
    if not isinstance(node, ast.Name):
        return [node]
    bindings = list(bindings_of(node.id, node, module))
    final = [
        place
        for place, binding in enumerate(bindings)
        if binding.kind == "assign"
        and module.parent(binding.node) is binding.scope.node
        and not binding.path
    ]
    outside = all(
        module.function_of(binding.node) is not module.function_of(node) for binding in bindings
    )
    if not final or not outside or final[-1] == 0:
        return [node]
    values = [binding.value for binding in bindings[final[-1] :]]
    return [value for value in values if value is not None] if all(values) else [node]
