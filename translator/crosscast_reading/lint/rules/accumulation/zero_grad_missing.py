"""CL107: gradients are never cleared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import starmap

from crosscast_reading.lint.answers.loop import backward_of, compatible, eager_steps, of_one_window
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.libraries.packages import KNOWN, package_of_name
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep
from crosscast_reading.trainstep.frames.object_kinds import kind_by_name, last_name

_CLEARS = re.compile(
    r"zero_?grad|clear_?grad|grad\.(data\.)?zero_|grad\s*=\s*None|zero_gradients|set_to_none"
    r"|optimi[sz]e_step|step_and|minimize"
)
_OWN = frozenset({"", "accelerate", "apex", "lightning_fabric"})
"""Libraries whose optimizers do not clear gradients."""
_HOPS = 6
_PURE = frozenset({"bool", "getattr", "hasattr", "isinstance", "is_available", "is_enabled"})
"""Last parts of the names of functions whose result depends on their arguments alone."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops that step and never clear the gradients between iterations."""
    for step in eager_steps(subject):
        applied = step.inside("step")
        if step.loop is None or not applied or not backward_of(step):
            continue
        if step.inside("make") or not all(_leaves(event) for event in applied):
            continue
        cleared = step.inside("zero_grad")
        first = _in_one_mode(step, cleared) if cleared else applied[0]
        if first is None or _may_end_after(step, first) or _elsewhere(step) or _hidden(step):
            continue
        mode = f" where {_mode(first)}" if cleared else ""
        yield Finding(
            span=first.span,
            message=f"the gradients are never cleared after {first.module.text(first.node)}{mode}, "
            "so every update includes those of all previous batches",
            hint=f"call `{first.subject or 'optimizer'}.{_method(first)}()` after it",
            related=tuple(event.span for event in (*cleared, *step.around("zero_grad"))[:1]),
        )


def _in_one_mode(step: TrainingStep, cleared: Sequence[Event]) -> Event | None:
    """Return the step of a mode of the program in which nothing clears gradients."""
    modes = _RunModes(step)
    for applied in step.inside("step"):
        if all(modes.exclude(applied, event) for event in cleared) and any(
            of_one_window(applied, backward) for backward in backward_of(step)
        ):
            return applied
    return None


def _mode(applied: Event) -> str:
    """Return the condition of a step in words, without the test that ends a window."""
    guards = [guard for guard in applied.guards if guard.window is None]
    return " and ".join(g.words for g in guards)


def _method(applied: Event) -> str:
    """Return the name of the clearing method in the program's framework."""
    imported = applied.module.imported
    return "clear_grad" if any(name.split(".")[0] == "paddle" for name in imported) else "zero_grad"


def _leaves(applied: Event) -> bool:
    """Whether a step keeps the gradients, as Paddle's `scaler.minimize` does."""
    if applied.library in _OWN:
        return True
    return applied.library == "paddle" and bool(applied.scaler) and "minimize" in applied.detail


def _may_end_after(step: TrainingStep, applied: Event) -> bool:
    """Whether the loop may end right after the step."""
    return any(
        event.order > applied.order and isinstance(event.node, ast.Break | ast.Return)
        for event in step.inside("leave")
        if len(event.guards) <= len(applied.guards)
    )


def _elsewhere(step: TrainingStep) -> bool:
    """Whether a line without a recognized event clears gradients."""
    seen = {(event.span.file, event.span.line) for event in step.of("zero_grad", "step")}
    modules = {event.module for event in step.events}
    for module in modules:
        for number, line in enumerate(module.lines, 1):
            code = line.partition("#")[0]
            if _CLEARS.search(code) and (module.source.name, number) not in seen:
                return True
    return False


def _hidden(step: TrainingStep) -> bool:
    """Whether the loop passes the optimizer to code that is not visible."""
    assert step.loop is not None
    module = step.module
    known = {id(event.node) for event in step.events}
    for node in walk(step.loop.node):
        if not isinstance(node, ast.Call) or id(node) in known:
            continue
        arguments = (*node.args, *(keyword.value for keyword in node.keywords))
        if not any(kind_by_name(last_name(word)) == "optimizer" for word in arguments):
            continue
        name = module.call(node).name
        if package_of_name(name) not in KNOWN and ":" not in name:
            return True
    return False


@once
def _writes(program: Program) -> dict[str, list[tuple[ast.AST, Function | None]]]:
    """Return where a program assigns to attributes, by their names, and in which function."""
    writes: dict[str, list[tuple[ast.AST, Function | None]]] = {}
    for module in program.modules:
        for node in module.every(ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                writes.setdefault(node.attr, []).append((node, module.function_of(node)))
    return writes


class _RunModes:
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


RULE = Rule("CL107", check, hints=("backward",))
