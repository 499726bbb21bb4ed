"""CL505: a schedule of Accelerate whose length does not count the processes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.answers.schedules import (
    is_prepared,
    is_schedule,
    makers,
    spelled_out,
    times_window,
)
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.sources.subject import Subject

_DEPTH = 24
_INVERSE = {"times": "over", "over": "times"}


def check(subject: Subject) -> Iterator[Finding]:
    """Find lengths in updates of schedules that Accelerate steps once per process."""
    program = subject.program
    split = any("split_batches" in module.code for module in program.modules)
    for step in eager_steps(subject):
        ticks = [o for o in step.inside("schedule") if is_schedule(o) and is_prepared(o)]
        if not ticks:
            continue
        for call, node in makers(program):
            processes = _processes_in(node, call.module)
            if processes == {"over"}:
                yield Finding(
                    span=call.module.span(node),
                    message=f"{call.module.text(node)} is divided by the number of processes, but "
                    "a prepared schedule advances once for each of them (with split_batches, the "
                    "batches do not become fewer)",
                    hint="do not divide by `accelerator.num_processes`",
                    related=(ticks[0].span,),
                    severity=Severity.WARNING,
                )
                continue
            if split or "times" in processes:
                continue
            text = spelled_out(node, call.module)
            if any(word in text for word in ("num_processes", "world_size", "len(")):
                continue
            if times_window(node, call.module):
                continue  # it counts batches: reported by schedule-length
            yield Finding(
                span=call.module.span(node),
                message=f"{call.module.text(node)} ignores the number of processes, but a prepared "
                "schedule advances once for each of them",
                hint="multiply by `accelerator.num_processes`",
                related=(ticks[0].span,),
            )


def _processes_in(node: ast.expr, module: Module, depth: int = 0) -> set[str]:
    """Return how the number of processes enters a length: `times`, `over`."""
    if depth > _DEPTH:
        return {"unknown"}
    match node:
        case ast.Attribute(attr="num_processes"):
            return {"times"}
        case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv(), right=right):
            inside = _processes_in(right, module, depth + 1)
            turned = {_INVERSE.get(word, word) for word in inside}
            return _processes_in(left, module, depth + 1) | turned
        case ast.BinOp(left=left, right=right):
            ways = _processes_in(left, module, depth + 1)
            return ways | _processes_in(right, module, depth + 1)
        case ast.Call(args=arguments):
            return {word for one in arguments for word in _processes_in(one, module, depth + 1)}
        case ast.Name() | ast.Attribute():
            values = [value for b in definitions(node, module) for value in _values(b)]
            return {word for one, m in values for word in _processes_in(one, m, depth + 1)}
    return set()


def _values(binding: Binding) -> Iterable[tuple[ast.expr, Module]]:
    """Return the value assigned to a name, or the arguments of calls for a parameter."""
    program = binding.module.program
    if binding.kind == "parameter":
        return program.arguments_for(binding)
    if binding.kind != "assign" or binding.value is None or binding.path:
        return ()
    return [(binding.value, binding.module)]


RULE = Rule("CL505", check, hints=("accelerat",))
