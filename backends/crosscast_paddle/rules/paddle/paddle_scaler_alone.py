"""CL804: a scaler of Paddle without auto_cast, or float16 auto_cast without a scaler."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from crosscast_paddle.answers.amp import (
    casts,
    decorates,
    methods,
    on_cpu,
    scalers,
)
from crosscast_reading.lint.answers.loop import asks_settings, literals
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.emitted.script import scales_nothing
from crosscast_reading.readers.python.conditions import Condition, branches
from crosscast_reading.readers.python.library_calls import calls_of, fixed, value_of
from crosscast_reading.readers.python.module_words import function_calls, words_of
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject

_SCALES = re.compile(
    r"(?<!standard)(?<!minmax)(?<!min_max)(?<!robust)scaler|loss_?scal|scale_?loss", re.I
)
"""Names of scalers of losses; a StandardScaler is one of data."""
_SWITCH = re.compile(r"amp\b|amp_|_amp|fp16|float16|half|mixed", re.I)


_ASIDE = re.compile(r"eval|valid|test|infer|predict|generate|sample", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find a scaler without auto_cast, or vice versa, among the files that use each other."""
    for group in dict.fromkeys(map(connected, subject.program.modules)):
        yield from _alone(subject.program, group)


def _alone(program: Program, group: frozenset[Module]) -> Iterator[Finding]:
    made, scaled = _within(group, scalers(program)), _within(group, methods(program, "scale"))
    if made and scaled and not _mentions(group, "auto_cast", "amp_guard"):
        if (
            not _within(group, decorates(program))
            and on_cpu(program) is None
            and not all(_is_handed_in(call) for call in scaled)
        ):
            yield Finding(
                span=scaled[0].module.span(scaled[0].node),
                message="auto_cast is never entered: training runs in float32, and the scaler "
                "disables itself",
                hint="compute the loss within `with paddle.amp.auto_cast():`",
                related=(made[0].module.span(made[0].node),),
            )
        return
    if any(_SCALES.search(word) for module in group for word in words_of(module)):
        return
    if scales_nothing(program.modules):  # as in its recipe, for which `crosscast check` warns
        return
    yield from _half_by_default(program, group)
    for call, kind in casts(program):
        tests = branches(call.node, call.module, callers=False)
        if call.module not in group or kind != "float16" or "enable" in call.bound():
            continue
        if all(_is_switch(test) for test in tests) and _trains(call):
            switch = call.module.text(tests[-1].node) if tests else ""
            yield Finding(
                span=call.module.span(call.node),
                message=f"the forward pass runs in float16{f' with {switch}' if switch else ''}, "
                "but the loss is not scaled",
                hint='use paddle.amp.GradScaler, or auto_cast(dtype="bfloat16"), which does '
                "not need one",
            )
            return


def _within(group: frozenset[Module], calls: Iterable[Call]) -> list[Call]:
    return [call for call in calls if call.module in group]


def _is_switch(test: Condition) -> bool:
    """Whether a condition turns half precision on: `if args.use_amp`."""
    parts = literals(test.node, test.holds)
    named = any(_SWITCH.search(text) for text, _ in parts)
    return named and asks_settings(test.node) and all(holds for _, holds in parts)


def _trains(region: Call) -> bool:
    """Whether a region is in a function that trains, or in one that returns a loss to it."""
    module, program = region.module, region.module.program
    function = module.function_of(region.node)
    mine = [call for call in module.calls if module.function_of(call.node) is function]
    if _update(mine):
        return True
    if function is None or _is_aside(function, module):
        return False
    return any(_is_differentiated(site) for site in program.call_sites(module, function))


def _update(calls: Iterable[Call]) -> bool:
    """Whether calls compute gradients and apply them."""
    methods = {call.method for call in calls}
    return "backward" in methods and not methods.isdisjoint({"step", "minimize"})


def _is_aside(function: Function, module: Module) -> bool:
    """Whether a function does not train: by its name, its decorators, or as it calls `eval()`."""
    shown = " ".join(module.text(each) for each in function.decorator_list)
    if _ASIDE.search(function.name) or "no_grad" in shown:
        return True
    return any(inner.method in ("eval", "no_grad") for inner in function_calls(function, module))


def _is_differentiated(site: Call) -> bool:
    """Whether a loop uses what a call returns, and then goes backward and steps."""
    module = site.module
    loop = module.enclosing(site.node, ast.For, ast.While)
    if loop is None or isinstance(module.statement_of(site.node), ast.Expr):
        return False
    later = [call for call in function_calls(loop, module) if call.node.lineno > site.node.lineno]
    return _update(later)


def _half_by_default(program: Program, group: frozenset[Module]) -> Iterator[Finding]:
    """Find programs that train with float16 as the default type of all weights."""
    calls = [(name, call) for name, call in calls_of(program) if call.module in group]
    trains = any(call.method == "backward" for _, call in calls)
    for name, call in calls if trains else ():
        value = value_of(next(iter(call.node.args), None), call.module)
        half = fixed(value) == "float16"
        named = name.endswith(".set_default_dtype") and name.startswith("paddle.")
        if named and half and not branches(call.node, call.module):
            yield Finding(
                span=call.module.span(call.node),
                message="the model is made and trained in float16, but the loss is not scaled",
                hint="keep float32 as the default type, and use auto_cast with a GradScaler",
            )


def _is_handed_in(call: Call) -> bool:
    """Whether the scaled loss is a parameter: another file may compute it within auto_cast."""
    match call.node.args:
        case [ast.Name() as loss, *_]:
            return any(b.kind == "parameter" for b in definitions(loss, call.module))
    return False


def _mentions(group: frozenset[Module], *words: str) -> bool:
    return any(word in module.code for module in group for word in words)


RULE = Rule(
    "CL804", check, hints=("GradScaler", "auto_cast", "set_default_dtype"), replaces=("CL206",)
)
