"""Reads clipping: transformations of optax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_jax.reading.names import NAME
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.readers.python.origins import located

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.program import Program

_CLIPS = {
    "optax.clip_by_global_norm": ("global_norm", "max_norm"),
    "optax.clip": ("value", "max_delta"),
    "optax.clip_by_block_rms": ("other_norm", ""),
    "optax.adaptive_grad_clip": ("adaptive", ""),
}
"""How they clip, and the argument with the limit where a recipe has such a one."""


def clip_facts(program: Program) -> Iterator[Fact]:
    """Yield the facts about transformations that clip; one that is only called does nothing."""
    for name, call in calls_of(program):
        if name not in _CLIPS or isinstance(call.module.parent(call.node), ast.Expr):
            continue
        kind, limit = _CLIPS[name]
        span = call.module.span(call.node)
        yield fact_of("clipping.kind", Known(kind), span, reader=NAME)
        yield fact_of("clipping.per", Known("step"), span, reader=NAME)
        value = call.argument(limit) if limit else None
        if value is not None:
            node = call.bound().get(limit)
            told = located(value, node, call.module) if node is not None else value
            yield fact_of("clipping.value", told, span, reader=NAME)
