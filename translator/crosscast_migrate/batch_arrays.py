"""Which array of a batch an expression is: its place in a row, or how the program writes it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crosscast_migrate.batch_loops import batch_targets
from crosscast_migrate.changed_values import changed_in_place
from crosscast_reading.pysource.names.containers import Place, chase, definitions

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.trainstep.events import TrainingStep

_CASTS = frozenset({"to", "cuda", "float", "long", "astype", "cast"})
"""Methods that leave the numbers of labels as they are."""
_DEEPEST = 8


class BatchArrays:
    """The arrays of the batches that a step trains on.

    Args:
        step: the step.
        held: names of parameters to what a library gives them, where it calls the function.
    """

    def __init__(self, step: TrainingStep, held: Mapping[str, Sequence[Place]]) -> None:
        self._held = held
        self._whole: set[str] = set()
        self._places: dict[str, int] = {}
        for target in batch_targets([step]):
            if isinstance(target, ast.Name):
                self._whole.add(target.id)
            elif isinstance(target, ast.Tuple):
                parts = enumerate(target.elts)
                self._places |= {p.id: place for place, p in parts if isinstance(p, ast.Name)}

    @property
    def count(self) -> int:
        """Number of the arrays, where the loop names them; 0 if it does not."""
        return len(self._places)

    def of(self, node: ast.expr, module: Module, depth: int = _DEEPEST) -> int | str | None:
        """Return the place of an array in a row, or its text; None for anything else."""
        node = uncast(node)
        match node:
            case ast.Name() if depth:
                return self._of_name(node, module, depth - 1)
            case ast.Subscript(value=whole, slice=ast.Constant(value=str() | int() as key)):
                if isinstance(whole, ast.Name) and self._is_whole(whole, module, depth):
                    return key
            case ast.Subscript(value=ast.Name(), slice=ast.Name()):
                return module.text(node)  # rows drawn by number
        return None

    def _of_name(self, node: ast.Name, module: Module, depth: int) -> int | str | None:
        if changed_in_place(node, module) is not None:
            return None
        keys: set[int | str | None] = set()
        bindings = definitions(node, module)
        for binding in bindings:
            match binding.kind:
                case "loop":
                    keys.add(self._places.get(node.id))
                case "parameter":
                    keys |= self._of_parameter(node, module, depth)
                case "assign" if binding.value is not None and len(binding.path) == 1:
                    whole = binding.value
                    is_whole = isinstance(whole, ast.Name) and self._is_whole(
                        whole, binding.module, depth
                    )
                    keys.add(binding.path[0] if is_whole else None)
                case "assign" if binding.value is not None and not binding.path:
                    inner = uncast(binding.value)
                    own = isinstance(inner, ast.Name) and inner.id == node.id
                    if not own or len(bindings) == 1:
                        keys.add(self.of(binding.value, binding.module, depth))
                    elif node.id in self._places:
                        keys.add(self._places[node.id])
                case _:
                    keys.add(None)
        return keys.pop() if len(keys) == 1 else None

    def _of_parameter(self, node: ast.Name, module: Module, depth: int) -> set[int | str | None]:
        given = self._given(node, module)
        return {self.of(each, where, depth) for each, where in given} or {node.id}

    def _given(self, node: ast.Name, module: Module) -> Sequence[Place]:
        """Return the arguments for a parameter where its function is called."""
        held = self._held.get(node.id, ())
        if held and all(each is not node for each, _ in held):
            return held
        return [each for each in chase(node, module) if each[0] is not node]

    def _is_whole(self, node: ast.Name, module: Module, depth: int) -> bool:
        """Whether a name is the batch."""
        kinds = {binding.kind for binding in definitions(node, module)}
        if kinds == {"loop"}:
            return node.id in self._whole
        given = self._given(node, module) if kinds == {"parameter"} and depth else []
        if kinds == {"parameter"} and not given:
            return True
        whole = [
            isinstance(each, ast.Dict)
            or (isinstance(each, ast.Name) and self._is_whole(each, where, depth - 1))
            for each, where in given
        ]
        return bool(whole) and all(whole)


def uncast(node: ast.expr) -> ast.expr:
    """Return an expression without what changes the device and the type of its value."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(attr="asarray"), args=[inner], keywords=[]):
                node = inner
            case ast.Call(func=ast.Attribute(attr="cast"), args=[inner, _], keywords=[]):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=method), keywords=[]) if (
                method in _CASTS
            ):
                node = inner
            case _:
                return node
