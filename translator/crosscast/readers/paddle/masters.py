"""Hand-written fp16 in static graphs of Paddle: float32 copies of the parameters in the program.

The idiom: `optimizer.backward(loss)`, float32 master parameters and gradients made from what it
returns, `optimizer.apply_gradients(master_params_grads)`, and the masters cast back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.pysource.evaluation.choices import certain_truth
from crosscast.pysource.syntax.nodes import walk
from crosscast.pysource.values.value import Known, Unknown, Value
from crosscast.readers.fact_builder import fact_of
from crosscast.readers.python.conditions import branches, is_possible
from crosscast.readers.python.library_calls import calls_of, plain, value_of
from crosscast.readers.python.precision import precision_facts, site
from crosscast.readers.schedule_names import decay_of
from crosscast.targets.parameter_words import scaling_words

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program

_MASTERS = re.compile(r"(create|make|get|append)_master_params?(_grads|_gradients)?\w*")
_DYNAMIC = re.compile(r"apply_dynamic_loss_scaling|update_loss_scaling|\w*dynamic_loss_scal\w*")
_SETTINGS = scaling_words("paddle")


def masters(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the facts of a program's own fp16 code."""
    calls = [call for _, call in calls_of(program)]
    makers = [
        c
        for c in calls
        if _MASTERS.fullmatch(c.method) and _is_paddle(c.module) and is_possible(c.node, c.module)
    ]
    if makers:
        yield from _made_here(makers, calls, reader)
    yield from _asked_for(calls, bool(makers), reader)


def _is_paddle(module: Module) -> bool:
    return "paddle" in module.source.text


def _made_here(makers: list[Call], calls: list[Call], reader: str) -> Iterator[Fact]:
    first = makers[0]
    span = first.module.span(first.node)
    yield fact_of("api", Known(("paddle_static_custom",)), span, reader=reader)
    sites = [site(c.node, c.module, ("float16",), mode="full") for c in makers]
    yield from precision_facts(sites, reader)
    dynamic = [c for c in calls if _DYNAMIC.fullmatch(c.method) and c.module is first.module]
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
        clips = call.method.endswith(("GradientClipByGlobalNorm", "ClipGradByGlobalNorm"))
        if clips and call.module is first.module:
            place = call.module.span(call.node)
            yield fact_of("clipping.unscaled_first", Known("yes"), place, reader=reader)


def _scale_of(call: Call) -> Value | None:
    """Return the scale passed to the function that creates the master weights."""
    bound = call.bound()
    node = next((bound[n] for n in bound if "scal" in n), None)
    if node is None:
        node = next((a for a in call.node.args if "scal" in call.module.text(a)), None)
    return value_of(node, call.module)


def _settings(call: Call, reader: str) -> Iterator[Fact]:
    """Yield the loss scale settings among the parameters of the enclosing function."""
    module = call.module
    function = module.function_of(call.node)
    if function is None:
        return
    names = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    for parameter in names:
        field = _SETTINGS.get(parameter.arg)
        if field is None:
            continue
        use = next(
            (
                n
                for n in walk(function)
                if isinstance(n, ast.Name) and n.id == parameter.arg and isinstance(n.ctx, ast.Load)
            ),
            None,
        )
        if use is not None:
            value = value_of(use, module)
            if value is not None:
                yield fact_of(field, value, module.span(parameter), reader=reader)


def _asked_for(calls: list[Call], here: bool, reader: str) -> Iterator[Fact]:
    """Yield the facts of a call that passes `use_fp16` to a function of another file."""
    for call in calls:
        words = {k.arg: k.value for k in call.node.keywords if k.arg}
        switch = words.get("use_fp16")
        if switch is None or "warmup_steps" not in words or not _is_paddle(call.module):
            continue
        span = call.module.span(call.node)
        if certain_truth(switch, call.module) is False:
            return
        if not here:
            yield fact_of("api", Known(("paddle_static_custom",)), span, reader=reader)
        cast = site(call.node, call.module, ("float16",), switch=switch, mode="full")
        yield from precision_facts([cast], reader)
        dynamic = words.get("use_dynamic_loss_scaling")
        fixed = words.get("loss_scaling")
        if dynamic is not None:
            value = value_of(dynamic, call.module)
            known = isinstance(value, Known) and value.origin == "literal"
            word = "selectable"
            if known and isinstance(value, Known):
                word = "dynamic" if value.value else "static"
            yield fact_of("loss_scaling.mode", Known(word), span, reader=reader)
            yield fact_of("scaler_update.status", Known("custom"), span, reader=reader)
        elif fixed is not None:
            yield fact_of("loss_scaling.mode", Known("static"), span, reader=reader)
            yield from _field("loss_scaling.scale", fixed, call, reader)
        for name, field in _SETTINGS.items():
            if name in words:
                yield from _field(field, words[name], call, reader)
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


def _field(field: str, node: ast.expr, call: Call, reader: str) -> Iterator[Fact]:
    value = value_of(node, call.module)
    if isinstance(value, Known | Unknown):
        yield fact_of(field, value, call.module.span(node), reader=reader)
