"""Reads how a program spreads over devices, and whether it computes activations again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_jax.reading.names import MESHES, NAME, PMAPS, REMATS, decorations
from crosscast_reading.facts.fact import unknown
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.decisions import decide_recomputing
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.readers.python.origins import origin

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.program import Program

_RECOMPUTES = re.compile(r"(use_)?(gradient_checkpointing|remat|rematerialize|activation_remat)")
_WHO = {"flag": "flag", "config": "config"}


def device_facts(program: Program) -> Iterator[Fact]:
    """Yield how work is spread over devices, and who decides about recomputing."""
    yield from _spread(program)
    yield from _recomputed(program)


def _spread(program: Program) -> Iterator[Fact]:
    """Yield the ways to use several devices; the number of machines is that of the launch."""
    places: dict[str, list[Span]] = {"pmap": [], "mesh": []}
    for name, call in calls_of(program):
        first = [call.module.resolve(each) for each in call.node.args[:1]]
        if name in PMAPS or (name == "functools.partial" and first and first[0] in PMAPS):
            places["pmap"].append(call.module.span(call.node))
        elif MESHES.fullmatch(name):
            places["mesh"].append(call.module.span(call.node))
    for module in program.modules:
        for function in module.functions.values():
            for name, decorator in decorations(function, module):
                if name in PMAPS and not isinstance(decorator, ast.Call):
                    places["pmap"].append(module.span(decorator))
                elif MESHES.fullmatch(name):
                    places["mesh"].append(module.span(decorator))
    # What is mapped over devices may use a mesh inside, for its inputs.
    kind = next((word for word, spans in places.items() if spans), "")
    if kind:
        spans = places[kind]
        yield fact_of("parallel.kind", Known((kind,)), *spans, reader=NAME)
        reason = "the launch decides on how many machines it runs"
        yield unknown("parallel.nodes", reason, spans[0], reader=NAME)


def _recomputed(program: Program) -> Iterator[Fact]:
    """Yield that activations are computed again, or who decides that."""
    seen = False
    for name, call in calls_of(program):
        if name in REMATS:
            decision = decide_recomputing(call)
            word = _WHO.get(decision.who, "yes")
            span = call.module.span(call.node)
            seen = True
            yield fact_of(
                "activation_checkpointing", Known(word), span, under=decision.under, reader=NAME
            )
    for module in program.modules:
        for function in module.functions.values():
            for name, decorator in decorations(function, module):
                if name in REMATS and not isinstance(decorator, ast.Call):
                    span = module.span(decorator)
                    seen = True
                    yield fact_of("activation_checkpointing", Known("yes"), span, reader=NAME)
    if not seen:
        yield from _switches(program)


def _switches(program: Program) -> Iterator[Fact]:
    """Yield who decides where a setting of the model says it: `remat=config.remat`."""
    for module in program.modules:
        for node in module.every(ast.keyword):
            if _RECOMPUTES.fullmatch(str(node.arg)):
                yield from _switch(node.value, module.span(node.value), origin(node.value, module))
        for target in module.every(ast.Assign):
            match target.targets[0]:
                case ast.Subscript(slice=ast.Constant(value=str(key))) if _RECOMPUTES.fullmatch(
                    key
                ):
                    span = module.span(target)
                    yield from _switch(target.value, span, origin(target.value, module))


def _switch(value: ast.expr, span: Span, who: str) -> Iterator[Fact]:
    """Yield the fact of one setting; a constant is a model's own default elsewhere."""
    if who in _WHO and not isinstance(value, ast.Constant):
        yield fact_of("activation_checkpointing", Known(_WHO[who]), span, reader=NAME)
