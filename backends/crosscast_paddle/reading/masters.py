"""Hand-written fp16 in static graphs of Paddle: float32 copies of the parameters in the program.

The idiom: `optimizer.backward(loss)`, float32 master parameters and gradients made from what it
returns, `optimizer.apply_gradients(master_params_grads)`, and the masters cast back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.evaluation.choices import certain_truth
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.conditions import branches, is_possible
from crosscast_reading.readers.python.library_calls import calls_of, plain, value_of
from crosscast_reading.readers.python.precision import precision_facts, site
from crosscast_reading.readers.schedule_names import decay_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_MASTERS = re.compile(r"(create|make|get|append)_master_params?(_grads|_gradients)?\w*")
_DYNAMIC = re.compile(r"apply_dynamic_loss_scaling|update_loss_scaling|\w*dynamic_loss_scal\w*")
_SETTINGS = scaling_words("paddle")


def masters(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the facts of a program's own fp16 code."""
    calls = [call for _, call in calls_of(program) if "paddle" in call.module.source.text]
    makers = [c for c in calls if _MASTERS.fullmatch(c.method) and is_possible(c.node, c.module)]
    if makers:
        yield from _made_here(makers, calls, reader)
    yield from _asked_for(calls, bool(makers), reader)


def _made_here(makers: list[Call], calls: list[Call], reader: str) -> Iterator[Fact]:
    first = makers[0]
    span = first.module.span(first.node)
    yield fact_of("api", Known(("paddle_static_custom",)), span, reader=reader)
    sites = [site(c.node, c.module, ("float16",), mode="full") for c in makers]
    yield from precision_facts(sites, reader)
    dynamic = [c for c in calls if _DYNAMIC.fullmatch(c.method)]
    scale = _scale_of(first)
    if dynamic:
        guarded = branches(dynamic[0].node, dynamic[0].module)
        chosen = any("dynamic" in c.text for c in guarded)
        place = dynamic[0].module.span(dynamic[0].node)
        word = "selectable" if chosen else "dynamic"
        yield fact_of("loss_scaling.mode", Known(word), place, reader=reader)
        yield fact_of("scaler_update.status", Known("custom"), place, reader=reader)
        yield fact_of("schedule.on_skip", Known("steps"), place, reader=reader)
        yield from _settings(first, reader)
        yield fact_of("loss_scaling.min_scale", Known(1.0, "library_default"), place, reader=reader)
    elif scale is not None:
        yield fact_of("loss_scaling.mode", Known("static"), span, reader=reader)
        yield fact_of("loss_scaling.scale", scale, span, reader=reader)
    for call in calls:
        if call.method.endswith(("GradientClipByGlobalNorm", "ClipGradByGlobalNorm")):
            place = call.module.span(call.node)
            yield fact_of("clipping.unscaled_first", Known("yes"), place, reader=reader)


def _scale_of(call: Call) -> Value | None:
    """Return the scale passed to the function that creates the master weights."""
    bound = call.bound()
    scales = [bound[name] for name in bound if "scal" in name]
    scales += [given for given in call.node.args if "scal" in call.module.text(given)]
    return value_of(next(iter(scales), None), call.module)


def _settings(call: Call, reader: str) -> Iterator[Fact]:
    """Yield the loss scale settings among the parameters of the enclosing function."""
    module = call.module
    function = module.function_of(call.node)
    inside = walk(function) if function is not None else []
    uses = [node for node in inside if isinstance(node, ast.Name)]
    for parameter in (node for node in inside if isinstance(node, ast.arg)):
        field = _SETTINGS.get(parameter.arg)
        if field is None:
            continue
        for use in [u for u in uses if u.id == parameter.arg][:1]:
            yield fact_of(field, value_of(use, module), module.span(parameter), reader=reader)


def _asked_for(calls: list[Call], here: bool, reader: str) -> Iterator[Fact]:
    """Yield the facts of a call that passes `use_fp16` to a function of another file."""
    for call in calls:
        words = call.bound()
        switch = words.get("use_fp16")
        if switch is None or "warmup_steps" not in words:
            continue
        span = call.module.span(call.node)
        if certain_truth(switch, call.module) is False:
            return
        yield fact_of("api", Known(("paddle_static_custom",)), span, reader=reader)
        cast = site(call.node, call.module, ("float16",), switch=switch, mode="full")
        yield from precision_facts([cast], reader)
        dynamic = words.get("use_dynamic_loss_scaling")
        fixed = words.get("loss_scaling")
        if dynamic is not None:
            match value_of(dynamic, call.module):
                case Known(value=on, origin="literal"):
                    word = "dynamic" if on else "static"
                case _:
                    word = "selectable"
            yield fact_of("loss_scaling.mode", Known(word), span, reader=reader)
            yield fact_of("scaler_update.status", Known("custom"), span, reader=reader)
        elif fixed is not None:
            yield fact_of("loss_scaling.mode", Known("static"), span, reader=reader)
            yield _field("loss_scaling.scale", fixed, call, reader)
        for name, field in _SETTINGS.items():
            if name in words:
                yield _field(field, words[name], call, reader)
        if not here:
            yield from _schedule(words, call, reader)
        return


def _schedule(words: dict[str, ast.expr], call: Call, reader: str) -> Iterator[Fact]:
    """Yield that the other file creates a schedule, with the arguments it gets."""
    node = words.get("scheduler") or words["warmup_steps"]
    text = str(plain(value_of(words.get("scheduler"), call.module)) or "")
    span = call.module.span(node)
    decay = decay_of(text) or "elsewhere"
    yield fact_of("schedule.name", Known(decay), span, reader=reader)
    warm = words["warmup_steps"]
    place = call.module.span(warm)
    yield fact_of("schedule.has_warmup", Known("yes"), place, reader=reader)
    yield fact_of("schedule.warmup", Known(call.module.text(warm)), place, reader=reader)
    yield fact_of("schedule.stepped_per", Known("step"), place, reader=reader)


def _field(field: str, node: ast.expr, call: Call, reader: str) -> Fact:
    return fact_of(field, value_of(node, call.module), call.module.span(node), reader=reader)
