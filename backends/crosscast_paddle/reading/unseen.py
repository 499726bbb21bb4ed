"""What Paddle programs leave to objects that the given files do not create.

An optimizer clips, and an object with `auto_cast` decides about half precision: where neither is
created here, nobody can say from these files that there is no clipping and no half precision.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.trainstep.frames.object_kinds import is_model_name, kind_by_name, last_name

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_CLIP = re.compile(r"clip", re.I)
_PROCESSES = re.compile(r"DataParallel|fleet|parallel_env|distributed|world_size")
_CAST = re.compile(r"_?(amp_)?auto_?cast(_context)?$")
_OF_OPTIMIZERS = {
    "clipping.kind": "elsewhere",
    "clipping.per": "step",
    "clipping.unscaled_first": "library",
}
"""How an optimizer of Paddle clips, if it does."""


def unseen_clips(program: Program, reader: str) -> Iterator[Fact]:
    """Yield that an optimizer of another file may clip, if nothing here says more of it."""
    calls = [call for _, call in calls_of(program)]
    if any(_CLIP.search(call.method) for call in calls) or not is_trained(program):
        return
    for call in calls:
        if _is_updating(call):
            span, words = call.module.span(call.node), _OF_OPTIMIZERS
            for field, word in words.items():
                yield fact_of(field, Known(word), span, reader=reader, confidence="guess")
            return


def _is_updating(call: Call) -> bool:
    """`optimizer.step()`, `scaler.step(optimizer)`, `optimizer.minimize(loss)`."""
    if call.method not in ("step", "minimize") or call.receiver is None:
        return False
    given = call.node.args[:1]
    return any(kind_by_name(last_name(node)) == "optimizer" for node in (call.receiver, *given))


def unseen_processes(program: Program, reader: str) -> Iterator[Fact]:
    """Yield that the caller decides about processes: model and optimizer are of its object."""
    if any(_PROCESSES.search(f"{name} {call.method}") for name, call in calls_of(program)):
        return
    calls = [call for _, call in calls_of(program)]
    owners = {owner for call in calls if _is_updating(call) for owner in _parameters(call)}
    for call in calls:
        function = call.node.func
        if not isinstance(function, ast.Attribute) or not is_model_name(function.attr):
            continue
        if isinstance(function.value, ast.Name) and function.value.id in owners:
            span, word = call.module.span(call.node), Known(("caller",))
            yield fact_of("parallel.kind", word, span, reader=reader, confidence="guess")
            return


def _parameters(call: Call) -> Iterator[str]:
    """Yield the parameter whose attribute an optimizer is: `engine` of `engine.optimizer[0]`."""
    for node in (call.receiver, *call.node.args[:1]):
        while isinstance(node, ast.Subscript):
            node = node.value
        owner = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(owner, ast.Name) and owner.id != "self":
            kinds = {binding.kind for binding in definitions(owner, call.module)}
            yield from [owner.id] if kinds == {"parameter"} else []


def is_trained(program: Program) -> bool:
    """Whether the program computes gradients itself."""
    return any(call.method == "backward" for _, call in calls_of(program))


def unseen_casts(program: Program, reader: str) -> Iterator[Fact]:
    """Yield that the caller's object casts: `with engine.auto_cast():`."""
    for name, call in calls_of(program):
        owner = call.receiver
        if owner is None or not _CAST.fullmatch(call.method) or name.startswith("paddle."):
            continue
        if program.function(call) is not None or not is_trained(program):
            continue
        span = call.module.span(call.node)
        yield fact_of("precision.enabled", Known("caller"), span, reader=reader)
        yield fact_of("api", Known(("paddle_dygraph_amp",)), span, reader=reader)
        return


def unseen_scalers(program: Program, reader: str) -> Iterator[Fact]:
    """Yield that a loss scaler of another file scales the loss: `engine.scaler.scale(loss)`."""
    for name, call in calls_of(program):
        match call.node.func:
            case ast.Attribute(value=owner, attr="scale"):
                kind = kind_by_name(last_name(owner))
            case _:
                continue
        if kind == "scaler" and not name.startswith("paddle.") and is_trained(program):
            span = call.module.span(call.node)
            yield fact_of("loss_scaling.mode", Known("elsewhere"), span, reader=reader)
            yield fact_of("api", Known(("paddle_dygraph_amp",)), span, reader=reader)
            return
