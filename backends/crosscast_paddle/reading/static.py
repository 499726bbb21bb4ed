"""Reads static graphs of Paddle: decorated optimizers, hand-written fp16, clipping, programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import scaling_words
from crosscast_paddle.reading.amp import scaling_facts
from crosscast_paddle.reading.masters import masters
from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.library_calls import calls_of, matching, plain
from crosscast_reading.readers.python.precision import precision_facts, site

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

NAME = "paddle-static"
DECORATE = re.compile(
    r"paddle\.(static\.amp\.|fluid\.contrib\.mixed_precision\.(decorator\.)?|static\.amp\.bf16\.)decorate"
)
SETTINGS = scaling_words("paddle")
_FLUID = "paddle.fluid.contrib.mixed_precision.decorate"
_OLDER_FORM = "paddle.static.amp.decorate (FP16_ONLY)"
_OLDER = frozenset({"use_pure_fp16", "use_fp16_guard", "use_bf16"})
"""Arguments that only the older signature of `paddle.static.amp.decorate` has."""
_STATIC = re.compile(
    r"paddle\.(enable_static|static\.(Executor|Program|program_guard|default_main_program)"
    r"|fluid\.(Executor|Program|program_guard|default_main_program|ParallelExecutor|layers\..+"
    r"|optimizer\.\w+))"
)
_DYNAMIC = re.compile(r"paddle\.fluid\.dygraph\.(guard|to_variable|enabled|enable_dygraph)")


class PaddleStaticReader:
    """Reads programs that build a static graph."""

    name = NAME
    hints = ("paddle",)

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        for _name, call in matching(program, DECORATE):
            yield from _decorated(call)
        yield from masters(program, NAME)
        if is_static(program):
            updating = _minimizing(program)
            if updating is not None:
                span = updating.module.span(updating.node)
                yield fact_of("zero_grad.where", Known("static_graph"), span, reader=NAME)


def is_static(program: Program) -> bool:
    """Whether the program builds a static graph (and no dynamic one)."""
    builds_graph = False
    for name, call in calls_of(program):
        if _DYNAMIC.fullmatch(name):
            return False
        if call.method == "backward" and name.endswith("loss.backward"):
            return False
        builds_graph = builds_graph or bool(_STATIC.fullmatch(name))
    return builds_graph


def _minimizing(program: Program) -> Call | None:
    """Return the call that adds the update to the graph, or that passes an optimizer on."""
    makers: list[Call] = []
    for name, call in calls_of(program):
        if call.method == "minimize":
            return call
        makes = call.method in ("optimization", "create_optimizer", "build_optimizer")
        if makes or name.startswith(("paddle.optimizer.", "paddle.fluid.optimizer.")):
            makers.append(call)
    return next(iter(makers), None)


def _decorated(call: Call) -> Iterator[Fact]:
    """Yield the facts of a decorated optimizer; its keywords identify one of two signatures."""
    bound = call.bound()
    span = call.module.span(call.node)
    under = tuple(c.text for c in branches(call.node, call.module))
    yield fact_of("api", Known(("paddle_static_decorate",)), span, reader=NAME)
    kind = "float16"
    if plain(call.argument("use_bf16")) is True or plain(call.argument("dtype")) == "bfloat16":
        kind = "bfloat16"
    pure = plain(call.argument("use_pure_fp16")) is True or plain(call.argument("level")) == "O2"
    mode = "full" if pure else "mixed"
    cast = site(call.node, call.module, (kind,), mode=mode)  # type: ignore[arg-type]
    yield from precision_facts([cast], NAME)
    if kind == "bfloat16":
        return
    yield from scaling_facts(call, under, SETTINGS, NAME)
    if ".fluid." in call.name:
        yield fact_of("loss_scaling.api", Known(_FLUID), span, reader=NAME)
    elif _OLDER & set(bound):
        yield fact_of("loss_scaling.api", Known(_OLDER_FORM), span, reader=NAME)
    yield fact_of("scaler_update.status", Known("library"), span, reader=NAME)


READER = PaddleStaticReader()
