"""CL721: the only schedule is made in a function that nothing calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.names.call_sites import is_mentioned
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_OTHER = re.compile(r"sched|plateau|(lr|learning_?rate|rate)_?(decay|fn|lambda)|decay_?steps", re.I)
"""Names of calls that may make another schedule, or change the rate by hand."""
_SETTING = re.compile(r"sched|plateau|warm_?up|lr_?(decay|step|gamma)|decay_?(rate|steps?)", re.I)
_TRAINS = frozenset({"fit", "apply_gradients", "minimize"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find functions of a main program that make its schedules from settings and are not used."""
    program = subject.program
    main = next((m for m in program.modules if _is_main(m)), None) if program else None
    if main is None:
        return
    if not any(has_role(name, "optimizer") for name, _ in calls_of(program)):
        return  # what another file makes may have a schedule of its own
    calls = [
        (call, main.function_of(call.node))
        for name, call in calls_of(program)
        if has_role(name, "schedule")
    ]
    functions = [function for _, function in calls if function is not None]
    if (
        not calls
        or len(functions) != len(calls)
        or any(call.module is not main for call, _ in calls)
    ):
        return
    makers = list(dict.fromkeys(functions))
    if not all(_is_unused(function, main, program) for function in makers):
        return
    trained = [c for c in main.calls if c.method in _TRAINS and not _is_within(c, makers)]
    reads = all(_reads_settings(function) for function in makers)
    if not trained or not reads or _has_other(makers, program):
        return
    names = " and ".join(function.name for function in makers)
    one = len(makers) == 1
    yield Finding(
        span=main.span(calls[0][0].node),
        message=f"nothing calls {names}, which {'makes' if one else 'make'} the only "
        f"{'schedule' if one else 'schedules'}: the learning rate stays the same, whatever the "
        "settings of the schedule are",
        hint=f"use what {names} {'returns' if one else 'return'}, or delete it with its settings",
        related=(main.span(trained[0].node),),
    )


def _is_main(module: Module) -> bool:
    return any(
        isinstance(node, ast.If) and "__name__" in module.text(node.test)
        for node in module.tree.body
    )


def _is_unused(function: Function, module: Module, program: Program) -> bool:
    """Whether a plain function of a file is named nowhere, and nothing may call it unnamed."""
    if function.decorator_list or function not in module.tree.body:
        return False
    for each in program.modules:
        unnamed = {"globals", "getattr", "eval"} - each.functions.keys()
        if any(isinstance(node, ast.Name) and node.id in unnamed for node in each.nodes):
            return False
    return not is_mentioned(function, program)


def _reads_settings(function: Function) -> bool:
    """Whether a function reads a setting of a schedule."""
    for node in walk(function):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                pass
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]):
                pass
            case ast.Attribute(value=ast.Name(), attr=key, ctx=ast.Load()):
                if any(
                    isinstance(inner, ast.Call) and inner.func is node for inner in walk(function)
                ):
                    continue
            case _:
                continue
        if _SETTING.search(key):
            return True
    return False


def _has_other(makers: Sequence[Function], program: Program) -> bool:
    """Whether another call may make a schedule, or anything else changes a rate."""
    inside = {node for function in makers for node in walk(function)}
    for module in program.modules:
        for node in module.nodes:
            if node in inside:
                continue
            match node:
                case ast.Call(func=called) if _OTHER.search(identifier(called)):
                    return True
                case ast.Assign(targets=[ast.Attribute(attr="lr" | "learning_rate")]):
                    return True
                case ast.Call(func=ast.Attribute(attr="set_value" | "assign"), args=[*arguments]):
                    texts = [module.text(part) for part in (node.func, *arguments)]
                    if any(re.search(r"\blr\b|learning_rate", text) for text in texts):
                        return True
    return False


def _is_within(call: Call, makers: Sequence[Function]) -> bool:
    return call.module.function_of(call.node) in makers


RULE = Rule("CL721", check, hints=("__name__",))
