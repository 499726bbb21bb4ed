"""Conditions with the same answer in every round of a training loop, such as those on flags."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import starmap

from crosscast_reading.lint.answers.loop import compatible
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.events import Event, TrainingStep

_HOPS = 6
_PURE = frozenset({"bool", "getattr", "hasattr", "isinstance", "is_available", "is_enabled"})
"""Last parts of the names of functions whose result depends on their arguments alone."""


@once
def _writes(program: Program) -> dict[str, list[tuple[ast.AST, Function | None]]]:
    """Return where a program assigns to attributes, by their names, and in which function."""
    writes: dict[str, list[tuple[ast.AST, Function | None]]] = {}
    for module in program.modules:
        for node in module.every(ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                writes.setdefault(node.attr, []).append((node, module.function_of(node)))
    return writes


class RunModes:
    """The modes in which a training loop can run: branches that all rounds take alike."""

    def __init__(self, step: TrainingStep) -> None:
        loops = {id(loop.node): loop.node for event in step.events for loop in event.loops[:1]}
        trees: dict[int, ast.AST] = dict(loops)
        homes = set()
        for event in step.events:
            for node in (event.node, *event.calls):
                function = event.module.owner_of(node).function_of(node)
                if function is None or function in homes:
                    continue
                homes.add(function)
                if not any(id(part) in loops for part in walk(function)):
                    trees[id(function)] = function
        self._inside = frozenset(id(node) for tree in trees.values() for node in walk(tree))
        self._around = frozenset(
            function
            for tree in trees.values()
            for function in step.module.owner_of(tree).functions_around(tree)
        )
        self._program = step.module.program

    def exclude(self, event: Event, other: Event) -> bool:
        """Whether no run has both events, because a condition that no round changes parts them."""
        return not compatible(self._in_modes(event), self._in_modes(other))

    def _is_written(self, attribute: str) -> bool:
        """Whether code that may run in the loop assigns to an attribute of a name."""
        places = _writes(self._program).get(attribute, ())
        return any(starmap(self._may_run_in_loop, places))

    def _may_run_in_loop(self, node: ast.AST, function: Function | None) -> bool:
        if id(node) in self._inside or function is None:
            return id(node) in self._inside
        return function.name != "__init__" and function not in self._around

    def _in_modes(self, event: Event) -> Event:
        kept = (
            guard
            for guard in event.guards
            if guard.window is None and self._is_kept(guard.node, event.module.owner_of(guard.node))
        )
        return replace(event, guards=tuple(kept))

    def _is_kept(self, node: ast.expr | None, module: Module, hops: int = _HOPS) -> bool:
        """Whether an expression has one value in all rounds."""
        if node is None or not hops:
            return False
        return all(self._is_part_kept(part, module, hops) for part in walk(node))

    def _is_part_kept(self, part: ast.AST, module: Module, hops: int) -> bool:
        match part:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return name in _PURE
            case ast.Call() | ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return False
            case ast.Attribute(attr=name):
                return not self._is_written(name)
            case ast.Name(id=name):
                bindings = definitions(part, module)
                return all(self._is_binding_kept(each, name, hops) for each in bindings)
        return True

    def _is_binding_kept(self, binding: Binding, name: str, hops: int) -> bool:
        if binding.kind == "loop" or id(binding.node) not in self._inside:
            return binding.kind != "loop"
        if binding.kind == "parameter":
            arguments = binding.module.program.arguments_for(binding)
            return bool(arguments) and all(self._is_kept(*each, hops - 1) for each in arguments)
        return binding.kind == "assign" and self._is_kept(
            binding.assigned, binding.module, hops - 1
        )
