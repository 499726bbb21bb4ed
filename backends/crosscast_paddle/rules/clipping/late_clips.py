"""Clipping that a static graph gets after the operators of its update."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.order import stands_before
from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_SETS = "clip.set_gradient_clip"
_UPDATES = frozenset({"minimize", "apply_gradients", "apply_optimize"})
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_DEPTH = 4


def _of_late_clips(subject: Subject) -> Iterator[Finding]:
    """Find clipping that is set when all updates are in the graph."""
    for clip, update in _late_clips(subject.program):
        yield Finding(
            span=clip.module.span(clip.node),
            message="nothing is clipped: the clipping is added to the graph by minimize, which has "
            "run before",
            hint="set it before minimize, or pass `grad_clip` to the optimizer",
            related=(update.module.span(update.node),),
        )


def _late_clips(program: Program) -> Iterator[tuple[Call, Call]]:
    """Yield the calls that set the clipping of a graph after every update of the program is in it.

    Yields also the first of these updates.
    """
    updates = [call for call in program.calls() if call.method in _UPDATES]
    for call in program.calls() if updates else ():
        if call.name.endswith(_SETS) and _is_last(call, updates):
            yield call, updates[0]


def _is_last(clip: Call, updates: list[Call]) -> bool:
    """Whether a function runs once and reaches all updates, each before the clipping."""
    call: Call | None = clip
    for _ in range(_DEPTH):
        if call is None:
            return False
        function = call.module.function_of(call.node)
        places = [place for update in updates for place in _places(update, function, _DEPTH)]
        if None not in places:
            return _runs_once(call, function) and all(
                place is not None
                and place.module is call.module
                and stands_before(place.node, call.node, call.module)
                for place in places
            )
        call = _only_site(function, call.module)
    return False


def _places(call: Call, within: Function | None, depth: int) -> Iterator[Call | None]:
    """Yield the calls in a function that lead to a call; None for every other way to it."""
    function = call.module.function_of(call.node)
    if function is within:
        yield call
        return
    sites = call.module.program.call_sites(call.module, function) if function is not None else ()
    if not sites or not depth:
        yield None
    for site in sites if depth else ():
        yield from _places(site, within, depth - 1)


def _only_site(function: Function | None, module: Module) -> Call | None:
    sites = module.program.call_sites(module, function) if function is not None else ()
    return sites[0] if len(sites) == 1 else None


def _runs_once(call: Call, function: Function | None) -> bool:
    """Whether no loop repeats a call, and a function around it is called at one place alone."""
    if call.module.enclosing(call.node, *_LOOPS) is not None:
        return False
    if function is None:
        return True
    sites = call.module.program.call_sites(call.module, function)
    if len(sites) > 1:
        return False
    return all(site.module.enclosing(site.node, *_LOOPS) is None for site in sites)


FORMS = (RuleForm(rule="CL304", check=_of_late_clips, hints=("set_gradient_clip",)),)
