"""Clips of the gradients of single micro-batches, which an optimizer adds up afterwards."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.syntax.nodes import keyword
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import calls_of, last, value_of
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_tensorflow.reading.accumulators import accumulating_wrappers

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program


def wrapper_steps(program: Program) -> dict[ast.AST, str]:
    """Return the calls that make an optimizer accumulate, each with its steps as text."""
    return {call.node: call.module.text(n) for call, n in accumulating_wrappers(program)}


def clips_given_to(
    makers: Mapping[ast.AST, str], clips: Collection[ast.AST], program: Program
) -> Iterator[tuple[ast.AST, Module, Call, ast.AST]]:
    """Yield the clips whose results an accumulating optimizer gets.

    Args:
        makers: the calls that create such optimizers, with their steps as text.
        clips: the calls that clip.
        program: the program.

    Yields:
        The clip and its module, the call that gets the gradients, and the maker of its optimizer.
    """
    for _, call in calls_of(program) if makers else ():
        match call.node:
            case ast.Call(
                func=ast.Attribute(value=optimizer, attr="apply_gradients" | "apply"),
                args=[gradients, *_],
            ):
                behind = flow_of(optimizer, call.module)
            case _:
                continue
        maker = next((part for part, _ in behind if part in makers), None)
        if maker is None:
            continue
        for part, module in flow_of(gradients, call.module):
            if part in clips and not _depends_on(part, makers[maker], module):
                yield part, module, call, maker


def _depends_on(clip: ast.AST, steps: str, module: Module) -> bool:
    """Whether a condition about the length of windows decides about a clip."""
    here = module.enclosing(clip, ast.If, ast.IfExp) if steps else None
    while isinstance(here, ast.If | ast.IfExp):
        if steps in module.text(here.test):
            return True
        here = module.enclosing(here, ast.If, ast.IfExp)
    return False


def private_clips(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the clips of optimizers for differential privacy, of every micro-batch on purpose."""
    for name, call in calls_of(program):
        limit = keyword(call.node, "l2_norm_clip")
        if limit is None or "optimizer" not in (last(name) or call.method).lower():
            continue
        span = call.module.span(limit)
        yield fact_of("clipping.kind", Known("global_norm"), span, reader=reader)
        yield fact_of("clipping.per", Known("micro"), span, reader=reader)
        yield fact_of("clipping.value", value_of(limit, call.module), span, reader=reader)
        return
