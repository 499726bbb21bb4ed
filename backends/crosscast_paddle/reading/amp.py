"""Reads mixed precision of Paddle's dynamic graphs: auto_cast, GradScaler, decorate."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import scaling_words
from crosscast_paddle.reading.unseen import is_trained, unseen_casts, unseen_scalers
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Choice, Known, Symbol, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.frameworks import framework_of
from crosscast_reading.readers.python.library_calls import (
    calls_of,
    matching,
    plain,
    text_value,
    uses,
    value_of,
)
from crosscast_reading.readers.python.precision import Site, precision_facts, site, types_in
from crosscast_reading.readers.python.scale_bounds import own_bounds
from crosscast_reading.readers.python.scaler_switches import tell_idle_scalers
from crosscast_reading.readers.python.unused_scalers import are_unused

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

NAME = "paddle-amp"
CAST = re.compile(
    r"paddle\.((cuda\.)?(amp\.)?autocast|amp\.(auto_cast|amp_guard)|fluid\.dygraph\.(amp\.)?amp_guard|fluid\.dygraph\.amp_guard)"
)
SCALER = re.compile(r"paddle\.(amp\.(GradScaler|AmpScaler)|fluid\.dygraph\.(amp\.)?AmpScaler)")
DECORATE = re.compile(r"paddle\.amp\.(decorate|amp_decorate)")
_LOADED = re.compile(r"(paddlenlp|paddleformers)\.transformers\.[\w.]*\.from_pretrained")
_SETTINGS = scaling_words("paddle")


class PaddleAmpReader:
    """Reads auto_cast, GradScaler and decorate, and fluid's AmpScaler and amp_guard."""

    name = NAME
    hints = (
        *("autocast", "auto_cast", "GradScaler", "AmpScaler", "amp_guard", "amp.decorate"),
        *("from_pretrained", "scaler"),
    )

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        sites = list(cast_sites(program))
        casts = [cast_site for cast_site in sites if not _is_decorate(cast_site)]
        yield from precision_facts(casts or sites, NAME)
        for cast_site in sites:
            span = cast_site.module.span(cast_site.node)
            yield fact_of("api", Known(("paddle_dygraph_amp",)), span, reader=NAME)
        scalers = [call for _, call in matching(program, SCALER)]
        if is_trained(program) and are_unused(scalers, program.modules):
            places = [call.module.span(call.node) for call in scalers]
            yield fact_of("loss_scaling.mode", Known("none"), *places, reader=NAME)
            scalers = []
        for call in scalers:
            yield from _scaler(call)
        yield from tell_idle_scalers(((c, c.bound().get("enable")) for c in scalers), NAME)
        if sites:
            yield from own_bounds(program, NAME)
        elif uses(program, "paddlenlp", "paddleformers") or _trains_with_paddle(program):
            yield from precision_facts(list(_half_models(program)), NAME)
            yield from unseen_casts(program, NAME)
        if _trains_with_paddle(program) and not any(matching(program, SCALER)):
            unseen = list(unseen_scalers(program, NAME))
            yield from unseen
            if unseen and not sites and not uses(program, "paddle"):  # it casts in another file
                place = unseen[0].places[0]
                yield fact_of("precision.enabled", Known("caller"), place, reader=NAME)
        yield from _levels(program)


def _trains_with_paddle(program: Program) -> bool:
    """Whether Paddle is imported, or the steps show it without an import."""
    return uses(program, "paddle") or framework_of(program) == "paddle"


def _half_models(program: Program) -> Iterator[Site]:
    """Yield the trained models that are loaded with half weights."""
    for name, call in calls_of(program):
        if not _LOADED.fullmatch(name) or not is_trained(program):
            continue
        dtypes = types_in(call.argument("dtype"))
        if any(kind in HALVES for kind in dtypes):
            chosen = call.bound()["dtype"]
            yield site(call.node, call.module, dtypes, chosen=chosen, mode="full")


def _is_decorate(cast_site: Site) -> bool:
    return "decorate" in cast_site.module.text(cast_site.node).partition("(")[0]


def cast_sites(program: Program) -> Iterator[Site]:
    """Yield the places that cast: regions of auto_cast, and decorated models."""
    for _name, call in matching(program, CAST):
        if not _is_off(call.argument(_switch(call))):
            yield _cast(call)
    for _name, call in matching(program, DECORATE):
        level = call.argument("level")
        mode = "full" if text_value(level) == "O2" else "mixed"
        chosen = call.bound().get("dtype")
        yield site(call.node, call.module, _types(call), chosen=chosen, mode=mode)  # type: ignore[arg-type]


def _is_off(value: Value | None) -> bool:
    """Whether the source says False."""
    match value:
        case Known(value=False, origin="literal"):
            return True
    return False


def _switch(call: Call) -> str:
    """Return the argument that disables a region; `autocast` uses PyTorch's names."""
    return "enabled" if call.name.endswith(".autocast") else "enable"


def _types(call: Call) -> tuple[str, ...]:
    """Return the types that auto_cast or decorate casts to, float16 by default."""
    return types_in(call.argument("dtype")) or ("float16",)


def _cast(call: Call) -> Site:
    bound = call.bound()
    level = plain(call.argument("level")) if "level" in bound else "O1"
    mode = "full" if level == "O2" else "mixed"
    dtypes = (*_types(call), *_compared_types(call))
    return site(
        call.node,
        call.module,
        tuple(dict.fromkeys(dtypes)),
        switch=bound.get(_switch(call)),
        chosen=bound.get("dtype"),
        mode=mode,  # type: ignore[arg-type]
        default="".join(types_in(call.argument("dtype"))[:1]),
    )


def _compared_types(call: Call) -> Iterator[str]:
    """Yield the types that conditions of a cast compare its type with: `dtype in ("bfloat16",)`."""
    chosen, switch = call.bound().get("dtype"), call.bound().get(_switch(call))
    tests = [(test.node, test.module) for test in branches(call.node, call.module)]
    if switch is not None:
        tests.append((switch, call.module.owner_of(switch)))
    for node, where in ((each, where) for test, where in tests for each in walk(test)):
        if chosen is None or not isinstance(node, ast.Compare):
            continue
        if where.text(node.left) == call.module.owner_of(chosen).text(chosen):
            for word in (each for other in node.comparators for each in walk(other)):
                if isinstance(word, ast.Constant):
                    yield from types_in(Known(word.value))


def _scaler(call: Call) -> Iterator[Fact]:
    span = call.module.span(call.node)
    under = tuple(c.text for c in branches(call.node, call.module))
    yield fact_of("api", Known(("paddle_dygraph_amp",)), span, reader=NAME)
    if call.name.endswith(".AmpScaler"):
        yield fact_of("loss_scaling.api", Known("paddle.amp.AmpScaler"), span, reader=NAME)
    yield from scaling_facts(call, under, _SETTINGS, NAME)


def scaling_facts(
    call: Call, under: tuple[str, ...], settings: dict[str, str], reader: str
) -> Iterator[Fact]:
    """Yield the facts in the arguments of a Paddle scaler.

    Args:
        call: of GradScaler or one of the `decorate` functions.
        under: conditions around it.
        settings: argument to field.
        reader: name of the reader.
    """
    bound = call.bound()
    span = call.module.span(call.node)
    if _is_off(call.argument("enable")):
        return
    dynamic = call.argument("use_dynamic_loss_scaling")
    yield from mode_facts(dynamic, any(name in bound for name in settings), span, under, reader)
    if _is_off(dynamic):
        settings = settings | {"init_loss_scaling": "loss_scaling.scale"}
    for name, field in settings.items():
        match value_of(bound.get(name), call.module):
            case None | Known(value=None):
                pass
            case value:
                place = call.module.owner_of(bound[name]).span(bound[name])
                yield fact_of(field, value, place, under=under, reader=reader)


def mode_facts(
    dynamic: Value | None, stated: bool, span: object, under: tuple[str, ...], reader: str
) -> Iterator[Fact]:
    """Yield the loss scaling mode that `use_dynamic_loss_scaling` selects."""
    match dynamic:
        case None:
            word = "dynamic" if stated else "framework_default"
        case Known(value=bool(on), origin="literal" | "constant"):
            word = "dynamic" if on else "static"
        case Known() | Unknown() | Choice():
            word = "selectable"
        case _:
            word = "dynamic"
    yield fact_of("loss_scaling.mode", Known(word), span, under=under, reader=reader)  # type: ignore[arg-type]


def _levels(program: Program) -> Iterator[Fact]:
    for name, call in calls_of(program):
        if CAST.fullmatch(name) or DECORATE.fullmatch(name):
            level = call.argument("level") if "level" in call.bound() else None
            if isinstance(level, Known | Unknown | Symbol):
                span = call.module.span(call.node)
                yield fact_of("precision.level", level, span, reader=NAME)


READER = PaddleAmpReader()
